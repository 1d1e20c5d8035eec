// The worker's part in a channel of datagrams beside the WebSocket: what comes, what goes, and when to try again.

import { Joiner } from "./order.js";
import { say } from "./wire.js";

export const [SOCKET, BESIDE] = [0, 1];
const [FRAMES, QUICK] = [0, 1];
const [INVITED, ANSWERED, ENDED] = [0, 1, 2];
const [ACK, PING, SPOKEN] = [2, 8, 17];
/** What is longer is said over the WebSocket alone. */
const MAX_TWICE = 8192;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;

/**
 * @typedef {{tell: (message: object, moved?: Transferable[]) => void,
 *   say: (message: ArrayBuffer) => void,
 *   came: (data: ArrayBuffer) => void,
 *   ended: () => void}} Around what the worker does for it
 */

export class Beside {
  #joiner = new Joiner();
  /** @type {(RTCDataChannel | undefined)[]} */
  #channels = [];
  /** @type {Set<number>} */
  #open = new Set();
  #delay = FIRST_RETRY_MS;
  #retry = 0;
  #invited = false;
  /** Whether to ask for films as a track. */
  takesTrack = false;

  /** @param {Around} around */
  constructor(around) {
    this.around = around;
  }

  get usable() {
    return this.#open.size === 2;
  }

  /** Forget everything: the WebSocket is gone, and with it the channel. */
  reset() {
    clearTimeout(this.#retry);
    this.#invited = false;
    this.#end();
  }

  /** @param {{what: number, text: string}} signal of the server's */
  signalled({ what, text }) {
    if (what === INVITED) {
      this.#invited = true;
      this.#ask();
    } else if (what === ANSWERED) this.around.tell({ kind: "peer", do: "answer", text });
    else if (what === ENDED) this.#lost();
  }

  /** Go on with a channel that has no track. */
  refuseTrack() {
    this.takesTrack = false;
    if (this.usable) this.#gaveUp();
  }

  /** @param {any} message of the page's */
  heard(message) {
    if (message.kind === "lane") this.#begin(message.lane, message.channel);
    else if (message.kind === "offer") this.around.say(say.signal(message.text));
    else if (message.kind === "open") this.#opened(message.lane);
    else if (message.kind === "came") this.#came(message.lane, message.data);
    else if (message.kind === "lost") this.#gaveUp();
  }

  /**
   * @param {ArrayBuffer} message
   * @param {number} number of messages that were said over the WebSocket before
   * @returns {boolean} whether it need not be said over the WebSocket, too
   */
  say(message, number) {
    if (!this.usable) return false;
    const [kind] = new Uint8Array(message, 0, 1);
    if ([ACK, PING, SPOKEN].includes(kind)) {
      this.#send(QUICK, message);
      return true;
    }
    if (message.byteLength > MAX_TWICE) return false;
    const numbered = new Uint8Array(4 + message.byteLength);
    new DataView(numbered.buffer).setUint32(0, number, true);
    numbered.set(new Uint8Array(message), 4);
    this.#send(FRAMES, numbered.buffer);
    return false;
  }

  /**
   * @param {number} lane
   * @param {ArrayBuffer} message
   */
  #send(lane, message) {
    const channel = this.#channels[lane];
    if (!channel) this.around.tell({ kind: "peer", do: "send", lane, message });
    else if (channel.readyState === "open") channel.send(message);
  }

  /**
   * @param {number} lane
   * @param {RTCDataChannel | undefined} channel none: the page carries what it carries
   */
  #begin(lane, channel) {
    if (lane === FRAMES) this.#joiner = new Joiner();
    this.#open.delete(lane);
    this.#channels[lane] = channel;
    if (!channel) return;
    channel.binaryType = "arraybuffer";
    channel.onopen = () => this.#opened(lane);
    channel.onmessage = ({ data }) => channel === this.#channels[lane] && this.#came(lane, data);
    channel.onclose = () => channel === this.#channels[lane] && this.#gaveUp();
    if (channel.readyState === "open") this.#opened(lane);
  }

  /** @param {number} lane */
  #opened(lane) {
    this.#open.add(lane);
    if (this.usable) this.#delay = FIRST_RETRY_MS;
  }

  /**
   * @param {number} lane
   * @param {ArrayBuffer} data
   */
  #came(lane, data) {
    const message = lane === FRAMES ? this.#joiner.take(data) : data;
    if (message) this.around.came(message);
  }

  /** This side has found out: the server is told. */
  #gaveUp() {
    if (!this.#invited) return;
    this.around.say(say.signal(""));
    this.#lost();
  }

  #lost() {
    this.#end();
    this.around.ended();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#invited && this.#ask(), this.#delay);
    this.#delay = Math.min(LONGEST_RETRY_MS, this.#delay * 2);
  }

  #ask() {
    this.around.tell({ kind: "peer", do: "open", track: this.takesTrack });
  }

  #end() {
    this.#channels = [];
    this.#open.clear();
    this.around.tell({ kind: "peer", do: "close" });
  }
}
