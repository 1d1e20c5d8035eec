// The viewer's engine, off the page's thread: the socket, the decoders and the canvas.

import { decompress } from "/static/vendor/fzstd.mjs";
import { BESIDE, Beside, SOCKET } from "./beside.js";
import { Film, showsFilms } from "./decoders/film.js";
import { decodeJpeg, pixelsOf } from "./decoders/jpeg.js";
import { Order } from "./order.js";
import { Picture } from "./picture.js";
import { DRIVES, MAY_ACT, VERSION, parse, say } from "./wire.js";

/** @typedef {import("./wire.js").Area} Area */
/** @typedef {import("./wire.js").Operation} Operation */

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
const COUNT_MS = 1000;
const PING_EVERY = 5;
const MAX_CHANGED = 24;
const LITTLE_BYTES = 1024;
const HOLD_MS = 300;

/** @param {object} message @param {Transferable[]} [moved] */
const tell = (message, moved = []) => postMessage(message, { transfer: moved });

class Engine {
  /** @type {WebSocket | undefined} */
  #socket;
  #picture = new Picture(1, 1);
  /** @type {ImageData} */
  #image = new ImageData(1, 1);
  /** @type {Map<number, Film>} */
  #films = new Map();
  #delay = FIRST_DELAY_MS;
  #order = Promise.resolve();
  #showsFilms = false;
  /** Whether the picture has been seen since it was connected. */
  #shows = false;
  #unacknowledged = 0;
  #held = 0;
  #pings = new Map();
  #ping = 0;
  #measured = 0;
  #mapped = false;
  /** @type {{kind: string, area: Area}[]} */
  #map = [];
  #sorted = new Order();
  #said = 0;
  /** @type {ArrayBuffer | undefined} */
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
    this.canvas = canvas;
    this.address = address;
    this.context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false, desynchronized: true }));
    this.statistics = { frames: 0, bytes: 0, roundTrip: 0, decoding: 0, datagrams: false };
    setInterval(() => this.#measure(), COUNT_MS);
  }

  async start() {
    this.#showsFilms = await showsFilms();
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
    this.#sorted.forget(BESIDE);
    if (this.#acknowledged) this.send(this.#acknowledged);
  }

  /** @param {boolean} mapped whether to tell the page what was sent how */
  set mapped(mapped) {
    this.#mapped = mapped;
  }

  #connect() {
    tell({ kind: "state", state: "connecting" });
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.#sorted = new Order();
    this.#said = 0;
    this.#acknowledged = this.#began = undefined;
    socket.onopen = () => this.send(say.hello(this.#showsFilms));
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
    this.#endFilms();
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
    this.statistics.bytes += data.byteLength;
    this.#unacknowledged += data.byteLength;
    for (const message of this.#sorted.take(way, parse(data))) this.#received(socket, message);
  }

  /**
   * What arrives is decoded at once and drawn in its order.
   * @param {WebSocket} socket
   * @param {import("./wire.js").Message} message
   */
  #received(socket, message) {
    const arrived = performance.now();
    if (message.kind !== "part") return this.#other(socket, message);
    const begun = message.operations.map((operation) => (operation.kind === "jpeg" ? decodeJpeg(operation.body) : undefined));
    this.#order = this.#order
      .then(() => this.#part(socket, message, begun, arrived))
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
        this.#order = this.#order.then(() => this.#resize(message.width, message.height));
        this.#shows = false;
        tell({ kind: "rights", control: (message.rights & MAY_ACT) !== 0, driving: (message.rights & DRIVES) !== 0 });
        break;
      case "size":
        this.#order = this.#order.then(() => this.#resize(message.width, message.height));
        break;
      case "signal":
        this.beside.signalled(message);
        break;
      case "cursor":
        tell({ ...message, packed: undefined, pixels: decompress(message.packed) });
        break;
      case "pong":
        this.statistics.roundTrip = performance.now() - (this.#pings.get(message.number) ?? performance.now());
        this.#pings.delete(message.number);
        break;
      case "rights":
        tell({ kind: "rights", control: (message.rights & MAY_ACT) !== 0, driving: (message.rights & DRIVES) !== 0 });
        break;
      default:
        tell(message);
    }
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  #resize(width, height) {
    this.#endFilms();
    if (this.#picture.width === width && this.#picture.height === height) return;
    this.#picture = new Picture(width, height);
    this.#image = new ImageData(new Uint8ClampedArray(this.#picture.pixels.buffer), width, height);
    this.canvas.width = width;
    this.canvas.height = height;
    tell({ kind: "size", width, height });
  }

  /**
   * @param {WebSocket} socket
   * @param {{frame: number, last: boolean, operations: Operation[]}} part
   * @param {(Promise<ImageBitmap> | undefined)[]} begun
   * @param {number} arrived
   */
  async #part(socket, { frame, last, operations }, begun, arrived) {
    if (socket !== this.#socket) return;
    this.#began ??= arrived;
    for (const [index, operation] of operations.entries()) await this.#do(operation, begun[index]);
    if (!last) return;
    this.#draw();
    this.#acknowledge(frame, arrived, arrived - this.#began);
    this.#began = undefined;
    if (!this.#shows) tell({ kind: "state", state: "connected" }); // now there is something to click on
    this.#shows = true;
    this.statistics.frames++;
    this.statistics.decoding = performance.now() - arrived;
    if (this.#mapped) tell({ kind: "map", rects: this.#map });
    this.#map = [];
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

  /**
   * @param {Operation} operation
   * @param {Promise<ImageBitmap> | undefined} bitmap
   */
  async #do(operation, bitmap) {
    switch (operation.kind) {
      case "exact":
        this.#note("exact", this.#picture.exact(decompress(operation.packed, new Uint8Array(operation.length))));
        break;
      case "moves":
        this.#note("moves", this.#picture.move(operation.moves));
        break;
      case "jpeg":
        this.#picture.paste(operation.area, pixelsOf(await /** @type {Promise<ImageBitmap>} */ (bitmap), operation.area));
        this.#note("jpeg", [operation.area]);
        break;
      case "film":
        await this.#film(operation.number).next(operation);
        this.#note("film", [operation.area]);
        break;
      case "film ends":
        this.#endFilm(operation.number);
    }
  }

  /** @param {number} number */
  #film(number) {
    const film = this.#films.get(number) ?? new Film();
    this.#films.set(number, film);
    return film;
  }

  /** @param {number} number of a film; the picture is seen again where it was */
  #endFilm(number) {
    const film = this.#films.get(number);
    if (film?.area.width) this.#picture.changed.push(film.area);
    film?.close();
    this.#films.delete(number);
  }

  #endFilms() {
    for (const number of [...this.#films.keys()]) this.#endFilm(number);
  }

  /**
   * @param {string} kind
   * @param {Area[]} areas
   */
  #note(kind, areas) {
    if (this.#mapped) this.#map.push(...areas.map((area) => ({ kind, area })));
  }

  #draw() {
    const changed = this.#picture.take();
    for (const { x, y, width, height } of changed.length > MAX_CHANGED ? [around(changed)] : changed) {
      this.context.putImageData(this.#image, 0, 0, x, y, width, height);
    }
    for (const film of this.#films.values()) film.draw(this.context);
  }

  #measure() {
    if (this.#measured++ % PING_EVERY === 0) {
      this.#pings.clear();
      this.#pings.set(++this.#ping, performance.now());
      this.send(say.ping(this.#ping));
    }
    this.statistics.datagrams = this.beside.usable;
    tell({ kind: "statistics", ...this.statistics });
    this.statistics.frames = this.statistics.bytes = 0;
  }
}

/** @param {Area[]} areas @returns {Area} the smallest that holds them all */
function around(areas) {
  const x = Math.min(...areas.map((area) => area.x));
  const y = Math.min(...areas.map((area) => area.y));
  const right = Math.max(...areas.map((area) => area.x + area.width));
  const bottom = Math.max(...areas.map((area) => area.y + area.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** @type {Engine} */
let engine;

onmessage = ({ data }) => {
  if (data instanceof ArrayBuffer) return engine.send(data);
  if (data.kind === "start") {
    engine = new Engine(data.canvas, data.address);
    engine.start();
  } else if (data.kind === "map") {
    engine.mapped = data.on;
  } else {
    engine.beside.heard(data);
  }
};
