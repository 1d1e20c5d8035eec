// The worker's end of the WebRTC data channels beside the WebSocket: which message goes by which, and when to connect again.

import { Reassembler } from "./fragments.js";
import { encode } from "./wire.js";

/** The transports that frames come by. */
export const [WEBSOCKET, DATAGRAMS] = [0, 1];
/** The channels by their id: one keeps messages in order, the other does not wait for lost ones. */
const [ORDERED, UNORDERED] = [0, 1];
const [INVITED, ANSWERED, ENDED] = [0, 1, 2];
const [ACK, PING, SPOKEN] = [2, 8, 17];
/** A longer message goes by the WebSocket alone. */
const MAX_DUPLICATED = 8192;
const FIRST_RETRY_MS = 10_000;
const LONGEST_RETRY_MS = 300_000;

/**
 * @typedef {object} Owner what the worker does for the channels
 * @property {(message: object, moved?: Transferable[]) => void} post to the page, which alone has a peer connection
 * @property {(message: ArrayBuffer) => void} send to the server
 * @property {(data: ArrayBuffer) => void} received a message came
 * @property {() => void} ended the channels are gone
 */

export class DataChannels {
  #reassembler = new Reassembler();
  /** @type {(RTCDataChannel | undefined)[]} */
  #channels = [];
  /** @type {Set<number>} */
  #open = new Set();
  #delay = FIRST_RETRY_MS;
  #retry = 0;
  #invited = false;
  /** Whether to ask for video as an RTP track. */
  takesTrack = false;

  /** @param {Owner} owner */
  constructor(owner) {
    this.owner = owner;
  }

  get usable() {
    return this.#open.size === 2;
  }

  /** Forget everything: the WebSocket is gone, and the channels with it. */
  reset() {
    clearTimeout(this.#retry);
    this.#invited = false;
    this.#close();
  }

  /** @param {{what: number, text: string}} signal of the server */
  signalled({ what, text }) {
    if (what === INVITED) {
      this.#invited = true;
      this.#connect();
    } else if (what === ANSWERED) this.owner.post({ kind: "peer", do: "answer", text });
    else if (what === ENDED) this.#lost();
  }

  /** Connect again without a track. */
  refuseTrack() {
    this.takesTrack = false;
    if (this.usable) this.#abandon();
  }

  /** @param {any} message of the page */
  handle(message) {
    if (message.kind === "channel") this.#add(message.id, message.channel);
    else if (message.kind === "offer") this.owner.send(encode.signal(message.text));
    else if (message.kind === "open") this.#opened(message.id);
    else if (message.kind === "received") this.#received(message.id, message.data);
    else if (message.kind === "lost") this.#abandon();
  }

  /**
   * @param {ArrayBuffer} message
   * @param {number} number how many messages went by the WebSocket before
   * @returns {boolean} whether it need not go by the WebSocket too
   */
  send(message, number) {
    if (!this.usable) return false;
    const [kind] = new Uint8Array(message, 0, 1);
    if ([ACK, PING, SPOKEN].includes(kind)) {
      this.#send(UNORDERED, message);
      return true;
    }
    if (message.byteLength > MAX_DUPLICATED) return false;
    const numbered = new Uint8Array(4 + message.byteLength);
    new DataView(numbered.buffer).setUint32(0, number, true);
    numbered.set(new Uint8Array(message), 4);
    this.#send(ORDERED, numbered.buffer);
    return false;
  }

  /**
   * @param {number} id
   * @param {ArrayBuffer} message
   */
  #send(id, message) {
    const channel = this.#channels[id];
    if (!channel) this.owner.post({ kind: "peer", do: "send", id, message });
    else if (channel.readyState === "open") channel.send(message);
  }

  /**
   * @param {number} id
   * @param {RTCDataChannel | undefined} channel undefined where the browser cannot transfer it: the page relays its messages
   */
  #add(id, channel) {
    if (id === ORDERED) this.#reassembler = new Reassembler();
    this.#open.delete(id);
    this.#channels[id] = channel;
    if (!channel) return;
    channel.binaryType = "arraybuffer";
    channel.onopen = () => this.#opened(id);
    channel.onmessage = ({ data }) => channel === this.#channels[id] && this.#received(id, data);
    channel.onclose = () => channel === this.#channels[id] && this.#abandon();
    if (channel.readyState === "open") this.#opened(id);
  }

  /** @param {number} id */
  #opened(id) {
    this.#open.add(id);
    if (this.usable) this.#delay = FIRST_RETRY_MS;
  }

  /**
   * @param {number} id
   * @param {ArrayBuffer} data
   */
  #received(id, data) {
    const message = id === ORDERED ? this.#reassembler.take(data) : data;
    if (message) this.owner.received(message);
  }

  /** Tell the server that this side has given up the channels. */
  #abandon() {
    if (!this.#invited) return;
    this.owner.send(encode.signal(""));
    this.#lost();
  }

  #lost() {
    this.#close();
    this.owner.ended();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#invited && this.#connect(), this.#delay);
    this.#delay = Math.min(LONGEST_RETRY_MS, this.#delay * 2);
  }

  #connect() {
    this.owner.post({ kind: "peer", do: "open", track: this.takesTrack });
  }

  #close() {
    this.#channels = [];
    this.#open.clear();
    this.owner.post({ kind: "peer", do: "close" });
  }
}
