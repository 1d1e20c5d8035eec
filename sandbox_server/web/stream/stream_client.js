// A viewer's connection to the stream, off the page's thread: the WebSocket, the data channels, the renderer and acknowledgements.

import { decompress } from "/static/vendor/fzstd.mjs";
import { DATAGRAMS, DataChannels, WEBSOCKET } from "./data_channels.js";
import { decodesH264 } from "./decoders/h264.js";
import { ReorderBuffer } from "./reorder_buffer.js";
import { Renderer } from "./renderer.js";
import { AudioReceiver } from "./audio_receiver.js";
import { VideoTrack } from "./video_track.js";
import { DRIVES, HIDDEN, MAY_ACT, MAY_SPEAK, VERSION, parse, encode } from "./wire.js";

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
const COUNT_MS = 1000;
const PING_EVERY = 5;
/** A frame this small is acknowledged a little later, with those that follow it. */
const LITTLE_BYTES = 1024;
const HOLD_MS = 300;

export class StreamClient {
  /** @type {WebSocket | undefined} */
  #socket;
  #delay = FIRST_DELAY_MS;
  #decodesH264 = false;
  /** Whether a frame was shown since it connected. */
  #shows = false;
  #unacknowledged = 0;
  #held = 0;
  #pings = new Map();
  #ping = 0;
  #measured = 0;
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
    this.statistics = { frames: 0, late: 0, bytes: 0, roundTrip: 0, decoding: 0, datagrams: false };
    setInterval(() => this.#measure(), COUNT_MS);
  }

  async start() {
    this.#decodesH264 = await decodesH264();
    this.channels.takesTrack = !this.#decodesH264;
    this.#connect();
  }

  /** @param {ArrayBuffer} message */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN || this.channels.send(message, this.#sent)) return;
    this.#sent++;
    this.#socket.send(message);
  }

  /** The data channels have ended, perhaps before the last acknowledgement arrived: repeat it. */
  #ended() {
    this.#order.forget(DATAGRAMS);
    if (this.#acknowledged) this.send(this.#acknowledged);
  }

  /** @param {ArrayBuffer} message of the person's input */
  sendInput(message) {
    this.renderer.noteInput();
    this.send(message);
  }

  #connect() {
    this.post({ kind: "state", state: "connecting" });
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.#order = new ReorderBuffer();
    this.#audio = new AudioReceiver();
    this.#sent = 0;
    this.#acknowledged = this.#began = undefined;
    socket.onopen = () => {
      if (this.#session) this.send(encode.resume(this.#session, this.#frame));
      this.send(encode.hello(this.#decodesH264));
    };
    socket.onmessage = ({ data }) => this.#received(socket, WEBSOCKET, data);
    socket.onclose = ({ code, reason }) => this.#closed(socket, code, reason);
    this.#socket = socket;
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   * @param {string} reason
   */
  #closed(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.channels.reset();
    this.post({ kind: "state", state: "lost", code, reason });
    setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(LONGEST_DELAY_MS, this.#delay * 2);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} transport
   * @param {ArrayBuffer} data
   */
  #received(socket, transport, data) {
    if (socket !== this.#socket) return;
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
        this.#delay = FIRST_DELAY_MS;
        [this.#session, this.#frame] = [message.session, 0];
        this.#resize(message.width, message.height);
        this.#shows = false;
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
    if (!this.#shows) this.post({ kind: "state", state: "connected" }); // only now is there something to click on
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

  #measure() {
    if (this.#measured++ % PING_EVERY === 0) {
      this.#pings.clear();
      this.#pings.set(++this.#ping, performance.now());
      this.send(encode.ping(this.#ping));
    }
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
