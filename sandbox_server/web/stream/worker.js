// The viewer's engine, off the page's thread: the socket, the decoders and the canvas.

import { decompress } from "/static/vendor/fzstd.mjs";
import { BESIDE, Beside, SOCKET } from "./beside.js";
import { showsFilms } from "./decoders/film.js";
import { Order } from "./order.js";
import { Show } from "./show.js";
import { Sounds } from "./sounds.js";
import { Track } from "./track.js";
import { DRIVES, HIDDEN, MAY_ACT, MAY_SPEAK, VERSION, parse, say } from "./wire.js";

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
const COUNT_MS = 1000;
const PING_EVERY = 5;
const LITTLE_BYTES = 1024;
const HOLD_MS = 300;

/** @param {object} message @param {Transferable[]} [moved] */
const tell = (message, moved = []) => postMessage(message, { transfer: moved });

class Engine {
  /** @type {WebSocket | undefined} */
  #socket;
  #delay = FIRST_DELAY_MS;
  #showsFilms = false;
  /** Whether the picture has been seen since it was connected. */
  #shows = false;
  #unacknowledged = 0;
  #held = 0;
  #pings = new Map();
  #ping = 0;
  #measured = 0;
  #session = 0;
  /** The latest frame of the session that is whole. */
  #frame = 0;
  #order = new Order();
  #sounds = new Sounds();
  /** How much was said over the WebSocket. */
  #said = 0;
  /** @type {ArrayBuffer | undefined} what was said last of frames */
  #acknowledged;
  /** @type {number | undefined} when the first part came of the frame that comes */
  #began;

  /**
   * @param {OffscreenCanvas} canvas
   * @param {string} address
   */
  constructor(canvas, address) {
    this.beside = new Beside({
      tell,
      say: (message) => this.send(message),
      came: (data) => this.#socket && this.#came(this.#socket, BESIDE, data),
      ended: () => this.#ended(),
    });
    this.track = new Track(tell, () => this.beside.refuseTrack());
    this.show = new Show(canvas, this.track);
    this.address = address;
    this.statistics = { frames: 0, late: 0, bytes: 0, roundTrip: 0, decoding: 0, datagrams: false };
    setInterval(() => this.#measure(), COUNT_MS);
  }

  async start() {
    this.#showsFilms = await showsFilms();
    this.beside.takesTrack = !this.#showsFilms;
    this.#connect();
  }

  /** @param {ArrayBuffer} message */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN || this.beside.say(message, this.#said)) return;
    this.#said++;
    this.#socket.send(message);
  }

  /** The channel has ended: what it carried last may not have arrived. */
  #ended() {
    this.#order.forget(BESIDE);
    if (this.#acknowledged) this.send(this.#acknowledged);
  }

  /** @param {ArrayBuffer} message what a person does */
  act(message) {
    this.show.acted();
    this.send(message);
  }

  #connect() {
    tell({ kind: "state", state: "connecting" });
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.#order = new Order();
    this.#sounds = new Sounds();
    this.#said = 0;
    this.#acknowledged = this.#began = undefined;
    socket.onopen = () => {
      if (this.#session) this.send(say.resume(this.#session, this.#frame));
      this.send(say.hello(this.#showsFilms));
    };
    socket.onmessage = ({ data }) => this.#came(socket, SOCKET, data);
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
    this.beside.reset();
    tell({ kind: "state", state: "lost", code, reason });
    setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(LONGEST_DELAY_MS, this.#delay * 2);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} way
   * @param {ArrayBuffer} data
   */
  #came(socket, way, data) {
    if (socket !== this.#socket) return;
    this.statistics.bytes += data.byteLength;
    this.#unacknowledged += data.byteLength;
    for (const message of this.#order.take(way, parse(data))) this.#received(socket, message);
  }

  /**
   * What arrives is decoded at once and drawn in its order.
   * @param {WebSocket} socket
   * @param {import("./wire.js").Message} message
   */
  #received(socket, message) {
    const arrived = performance.now();
    if (message.kind !== "part") return this.#other(socket, message);
    const receiving = arrived - (this.#began ??= arrived);
    if (message.last) this.#began = undefined;
    this.show
      .take(message)
      .then((seen) => socket === this.#socket && message.last && this.#shown(message.frame, arrived, receiving, seen))
      .catch((error) => {
        tell({ kind: "error", reason: String(error) });
        socket.close();
      });
  }

  /**
   * @param {WebSocket} socket
   * @param {Exclude<import("./wire.js").Message, {kind: "part"}>} message
   */
  #other(socket, message) {
    switch (message.kind) {
      case "hello":
        if (message.version !== VERSION) return socket.close();
        this.#delay = FIRST_DELAY_MS;
        [this.#session, this.#frame] = [message.session, 0];
        this.#resize(message.width, message.height);
        this.#shows = false;
        tell(rights(message.rights));
        break;
      case "size":
        this.#resize(message.width, message.height);
        break;
      case "signal":
        this.beside.signalled(message);
        break;
      case "sound":
      case "sounds":
        for (const one of this.#sounds.take(message)) tell({ kind: "sound", ...one });
        break;
      case "cursor":
        tell({ ...message, packed: undefined, pixels: decompress(message.packed) });
        break;
      case "pong":
        this.statistics.roundTrip = performance.now() - (this.#pings.get(message.number) ?? performance.now());
        this.#pings.delete(message.number);
        break;
      case "rights":
        tell(rights(message.rights));
        break;
      default:
        tell(message);
    }
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  async #resize(width, height) {
    if (await this.show.resize(width, height)) tell({ kind: "size", width, height });
  }

  /**
   * @param {number} frame
   * @param {number} arrived
   * @param {number} receiving milliseconds from its first part to its last
   * @param {import("./show.js").Seen} seen
   */
  #shown(frame, arrived, receiving, { map, tracked, age }) {
    this.#frame = frame;
    if (tracked) this.#unacknowledged += LITTLE_BYTES; // which came by the track
    this.#acknowledge(frame, age === undefined ? arrived : performance.now() - age, receiving);
    if (!this.#shows) tell({ kind: "state", state: "connected" }); // now there is something to click on
    this.#shows = true;
    this.statistics.frames++;
    this.statistics.decoding = performance.now() - arrived;
    if (map.length) tell({ kind: "map", rects: map });
  }

  /**
   * At once where much is on its way; a little later where little is, so that typing costs one small packet a key.
   * @param {number} frame
   * @param {number} arrived
   * @param {number} receiving
   */
  #acknowledge(frame, arrived, receiving) {
    const socket = this.#socket;
    clearTimeout(this.#held);
    const now = () => {
      this.#unacknowledged = 0;
      if (socket === this.#socket) this.send((this.#acknowledged = say.ack(frame, performance.now() - arrived, receiving)));
    };
    if (this.#unacknowledged > LITTLE_BYTES) now();
    else this.#held = setTimeout(now, HOLD_MS);
  }

  #measure() {
    if (this.#measured++ % PING_EVERY === 0) {
      this.#pings.clear();
      this.#pings.set(++this.#ping, performance.now());
      this.send(say.ping(this.#ping));
    }
    const missed = this.#sounds.missed();
    if (missed) this.send(say.missed(missed));
    this.statistics.datagrams = this.beside.usable;
    this.statistics.late = this.show.takeLate();
    tell({ kind: "statistics", ...this.statistics });
    this.statistics.frames = this.statistics.bytes = 0;
  }
}

/** @type {Engine} */
let engine;

onmessage = ({ data }) => {
  if (data instanceof ArrayBuffer) return engine.act(data);
  if (data.kind === "start") {
    engine = new Engine(data.canvas, data.address);
    engine.start();
  } else if (data.kind === "say") {
    engine.send(data.message);
  } else if (data.kind === "map") {
    engine.show.mapped = data.on;
  } else if (data.kind === "pictured") {
    engine.track.pictured(data);
  } else {
    engine.beside.heard(data);
  }
};

/** What the bits of a viewer's rights say. @param {number} bits */
function rights(bits) {
  const has = (/** @type {number} */ bit) => (bits & bit) !== 0;
  return { kind: "rights", control: has(MAY_ACT), driving: has(DRIVES), hidden: has(HIDDEN), microphone: has(MAY_SPEAK) };
}
