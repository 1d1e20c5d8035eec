// A viewer's connection to the stream, off the page's thread: the WebSocket, the data channels, the renderer and acknowledgements.

import { decompress } from "/static/vendor/fzstd.mjs";
import { isBlocked } from "../websocket_check.js";
import { ConnectionWatch } from "./connection_watch.js";
import { DATAGRAMS, DataChannels, WEBSOCKET } from "./data_channels.js";
import { decodesH264 } from "./decoders/h264.js";
import { ReorderBuffer } from "./reorder_buffer.js";
import { Renderer } from "./renderer.js";
import { AudioReceiver } from "./audio_receiver.js";
import { SocketOpener } from "./socket_opener.js";
import { VideoTrack } from "./video_track.js";
import { DRIVES, HIDDEN, MAY_ACT, MAY_SPEAK, VERSION, isInput, parse, encode } from "./wire.js";

const COUNT_MS = 1000;
const MAX_PINGS = 8;
/** How often a connection fails before it is asked whether this network lets WebSockets through at all. */
const BLOCKED_AFTER = 2;
/** A frame this small is acknowledged a little later, with those that follow it. */
const LITTLE_BYTES = 1024;
const HOLD_MS = 300;

export class StreamClient {
  /** @type {WebSocket | undefined} */
  #socket;
  #decodesH264 = false;
  /** Whether the person's input is sent. It is dropped from the moment that the connection stalls until there is a picture again. */
  #sendsInput = true;
  /** How often no connection came about; undefined once the server has greeted. @type {number | undefined} */
  #failures = 0;
  #blocked = false;
  /** Whether a frame was shown since it connected. */
  #shows = false;
  #unacknowledged = 0;
  #held = 0;
  /** When each of the latest pings was sent, by its number. @type {Map<number, number>} */
  #pings = new Map();
  #ping = 0;
  #session = 0;
  /** The latest complete frame of the session. */
  #frame = 0;
  #order = new ReorderBuffer();
  #audio = new AudioReceiver();
  /** How many messages went by the WebSocket. */
  #sent = 0;
  /** @type {ArrayBuffer | undefined} the last acknowledgement */
  #acknowledged;
  /** @type {number | undefined} when the first part of the current frame came */
  #began;

  /**
   * @param {OffscreenCanvas} canvas
   * @param {string} address of the WebSocket
   * @param {(message: object, moved?: Transferable[]) => void} post tells the page's thread
   */
  constructor(canvas, address, post) {
    this.post = post;
    this.channels = new DataChannels({
      post,
      send: (message) => this.send(message),
      received: (data) => this.#socket && this.#received(this.#socket, DATAGRAMS, data),
      ended: () => this.#ended(),
    });
    this.track = new VideoTrack(post, () => this.channels.refuseTrack());
    this.renderer = new Renderer(canvas, this.track);
    this.address = address;
    this.watch = new ConnectionWatch((state) => this.#watched(state));
    this.opener = new SocketOpener(address, {
      opened: (socket) => this.#opened(socket),
      failed: (code, reason) => this.#notOpened(code, reason),
    });
    this.statistics = { frames: 0, late: 0, bytes: 0, roundTrip: 0, decoding: 0, datagrams: false };
    setInterval(() => this.#measure(), COUNT_MS);
  }

  async start() {
    this.#decodesH264 = await decodesH264();
    this.channels.takesTrack = !this.#decodesH264;
    this.#drop();
    this.#post("connecting");
    this.opener.open();
  }

  /** @param {ArrayBuffer} message */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN || this.channels.send(message, this.#sent)) return;
    this.#sendBySocket(message);
  }

  /** @param {ArrayBuffer} message */
  #sendBySocket(message) {
    this.#sent++;
    this.#socket?.send(message);
  }

  /** @param {string} state @param {object} [more] */
  #post(state, more = {}) {
    this.post({ kind: "state", state, ...more });
  }

  /** The data channels have ended, perhaps before the last acknowledgement arrived: repeat it. */
  #ended() {
    this.#order.forget(DATAGRAMS);
    if (this.#acknowledged) this.send(this.#acknowledged);
  }

  /** @param {ArrayBuffer} message of the page */
  sendInput(message) {
    if (!this.#sendsInput && isInput(message)) return; // what comes late acts on something else
    this.renderer.noteInput();
    this.send(message);
  }

  /** @param {ArrayBuffer} message of the microphone */
  sendSpeech(message) {
    if (this.#sendsInput) this.send(message);
  }

  /** @param {WebSocket} socket */
  #opened(socket) {
    this.#drop(); // if there is one still, it has stalled
    this.#order = new ReorderBuffer();
    this.#audio = new AudioReceiver();
    this.#sent = 0;
    this.#shows = false;
    this.#acknowledged = this.#began = undefined;
    socket.onmessage = ({ data }) => this.#received(socket, WEBSOCKET, data);
    socket.onclose = ({ code, reason }) => this.#closed(socket, code, reason);
    this.#socket = socket;
    if (this.#session) this.send(encode.resume(this.#session, this.#frame));
    this.send(encode.hello(this.#decodesH264));
    this.watch.asked();
  }

  /** Disconnect. */
  #drop() {
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = undefined;
    this.watch.reset();
    this.channels.reset();
    socket.close();
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   * @param {string} reason
   */
  #closed(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.#drop();
    this.#lost(code, reason);
    this.opener.openLater();
  }

  /**
   * No connection came about; where one is left, it has stalled.
   * @param {number} code
   * @param {string} reason
   */
  #notOpened(code, reason) {
    this.opener.openLater();
    if (this.#socket || this.#blocked) return;
    this.#lost(code, reason);
    if (this.#failures !== undefined && ++this.#failures >= BLOCKED_AFTER) this.#checkBlocked();
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #lost(code, reason) {
    this.#sendsInput &&= this.#failures !== undefined;
    this.#post("lost", { code, reason });
  }

  async #checkBlocked() {
    if (this.#blocked || !(await isBlocked(this.address)) || this.#socket) return;
    this.#blocked = true;
    this.#post("blocked");
  }

  /** @param {import("./connection_watch.js").Liveness} state */
  #watched(state) {
    if (state === "stalled") {
      this.#sendsInput = false;
      this.opener.open();
    }
    if (state === "alive") this.opener.stop();
    if (!this.#shows) return;
    if (state === "alive") this.#connected();
    else this.#post(state);
  }

  #connected() {
    this.#sendsInput = true;
    this.#post("connected");
  }

  /**
   * @param {WebSocket} socket
   * @param {number} transport
   * @param {ArrayBuffer} data
   */
  #received(socket, transport, data) {
    if (socket !== this.#socket) return;
    this.watch.heard();
    this.statistics.bytes += data.byteLength;
    this.#unacknowledged += data.byteLength;
    for (const message of this.#order.take(transport, parse(data))) this.#handle(socket, message);
  }

  /**
   * Decode a message at once; frames are drawn in order.
   * @param {WebSocket} socket
   * @param {import("./wire.js").Message} message
   */
  #handle(socket, message) {
    const arrived = performance.now();
    if (message.kind !== "part") return this.#handleOther(socket, message);
    const receiving = arrived - (this.#began ??= arrived);
    if (message.last) this.#began = undefined;
    this.renderer
      .take(message)
      .then((shown) => socket === this.#socket && message.last && this.#shown(message.frame, arrived, receiving, shown))
      .catch((error) => {
        this.post({ kind: "error", reason: String(error) });
        socket.close();
      });
  }

  /**
   * @param {WebSocket} socket
   * @param {Exclude<import("./wire.js").Message, {kind: "part"}>} message
   */
  #handleOther(socket, message) {
    switch (message.kind) {
      case "hello":
        if (message.version !== VERSION) return socket.close();
        this.opener.answered();
        this.#failures = undefined;
        this.#blocked = false;
        [this.#session, this.#frame] = [message.session, 0];
        this.#resize(message.width, message.height);
        this.post(rights(message.rights));
        break;
      case "size":
        this.#resize(message.width, message.height);
        break;
      case "signal":
        this.channels.signalled(message);
        break;
      case "sound":
      case "sounds":
        for (const one of this.#audio.take(message)) this.post({ kind: "sound", ...one });
        break;
      case "cursor":
        this.post({ ...message, packed: undefined, pixels: decompress(message.packed) });
        break;
      case "pong":
        this.statistics.roundTrip = performance.now() - (this.#pings.get(message.number) ?? performance.now());
        this.#pings.delete(message.number);
        break;
      case "rights":
        this.post(rights(message.rights));
        break;
      default:
        this.post(message);
    }
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  async #resize(width, height) {
    if (await this.renderer.resize(width, height)) this.post({ kind: "size", width, height });
  }

  /**
   * @param {number} frame
   * @param {number} arrived
   * @param {number} receiving milliseconds from its first part to its last
   * @param {import("./renderer.js").Shown} shown
   */
  #shown(frame, arrived, receiving, { map, tracked, age }) {
    this.#frame = frame;
    if (tracked) this.#unacknowledged += LITTLE_BYTES; // the bytes of the track are not counted here
    this.#acknowledge(frame, age === undefined ? arrived : performance.now() - age, receiving);
    if (!this.#shows) this.#connected(); // only now is there something to click on
    this.#shows = true;
    this.statistics.frames++;
    this.statistics.decoding = performance.now() - arrived;
    if (map.length) this.post({ kind: "map", rects: map });
  }

  /**
   * Acknowledge a frame: at once where much was received, else a little later, so that typing costs one small packet a key.
   * @param {number} frame
   * @param {number} arrived
   * @param {number} receiving
   */
  #acknowledge(frame, arrived, receiving) {
    const socket = this.#socket;
    clearTimeout(this.#held);
    const now = () => {
      this.#unacknowledged = 0;
      if (socket === this.#socket) this.send((this.#acknowledged = encode.ack(frame, performance.now() - arrived, receiving)));
    };
    if (this.#unacknowledged > LITTLE_BYTES) now();
    else this.#held = setTimeout(now, HOLD_MS);
  }

  /** Ping, which goes by the WebSocket while an earlier one is not answered: the channels may be gone. */
  #askForPong() {
    this.#pings.set(++this.#ping, performance.now());
    this.#pings.delete(this.#ping - MAX_PINGS);
    const ping = encode.ping(this.#ping);
    if (this.watch.waits) this.#sendBySocket(ping);
    else this.send(ping);
    this.watch.asked();
  }

  #measure() {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#askForPong();
    const lost = this.#audio.fractionLost();
    if (lost) this.send(encode.missed(lost));
    this.statistics.datagrams = this.channels.usable;
    this.statistics.late = this.renderer.takeLate();
    this.post({ kind: "statistics", ...this.statistics });
    this.statistics.frames = this.statistics.bytes = 0;
  }
}

/** What the bits of a viewer's rights encode. @param {number} bits */
function rights(bits) {
  const has = (/** @type {number} */ bit) => (bits & bit) !== 0;
  return { kind: "rights", control: has(MAY_ACT), driving: has(DRIVES), hidden: has(HIDDEN), microphone: has(MAY_SPEAK) };
}
