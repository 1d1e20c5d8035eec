// The messages of the stream protocol: reads the server's and builds the viewer's. Sans-io. docs/stream-protocol.md describes them.

export const VERSION = 1;
export const MAY_ACT = 1;
export const DRIVES = 2;
/** Another person is in private mode; nothing is shown until that ends. */
export const HIDDEN = 4;
/** The desktop has a microphone, which hears this viewer while it drives. */
export const MAY_SPEAK = 8;
const LAST = 1;
const KEY_FRAME = 1;
const MAX_OVERLAYS = 256;
const TRACKED = 2;
/** Kinds of input that no mouse button made. */
export const DRAGGED = 16;
export const KEYS = 17;
export const TYPED = 18;

/**
 * @typedef {{x: number, y: number, width: number, height: number}} Area in pixels
 * @typedef {{kind: "exact", length: number, packed: Uint8Array}
 *   | {kind: "moves", moves: DataView}
 *   | {kind: "jpeg", area: Area, body: Uint8Array}
 *   | {kind: "video", number: number, key: boolean, area: Area, body: Uint8Array}
 *   | {kind: "tracked", number: number, area: Area, timestamp: number}
 *   | {kind: "video ends", number: number}
 *   | {kind: "keep" | "kept", tiles: DataView}
 *   | {kind: "over", number: number, areas: Area[]}} Operation
 * @typedef {{kind: "hello", version: number, rights: number, session: number, width: number, height: number}
 *   | {kind: "size", width: number, height: number}
 *   | {kind: "part", frame: number, last: boolean, operations: Operation[]}
 *   | {kind: "cursor", width: number, height: number, hotX: number, hotY: number, packed: Uint8Array}
 *   | {kind: "pointer", x: number, y: number}
 *   | {kind: "pong", number: number}
 *   | {kind: "rights", rights: number}
 *   | {kind: "clipboard", text: string}
 *   | {kind: "desktop", running: boolean}
 *   | {kind: "sound", number: number, packet: Uint8Array}
 *   | {kind: "sounds", sequence: number, first: number, packets: Uint8Array[]}
 *   | {kind: "clip", forms: Record<string, Uint8Array>}
 *   | {kind: "signal", what: number, text: string}
 *   | {kind: "acted", what: number, times: number, x: number, y: number, keys: string, path: {x: number, y: number}[]}} Message
 */

/** The bytes that arrived are no message. */
export class BadMessage extends Error {}

class Reader {
  /** @param {ArrayBuffer} buffer */
  constructor(buffer) {
    this.view = new DataView(buffer);
    this.at = 0;
  }

  get left() {
    return this.view.byteLength - this.at;
  }

  /** @param {number} count */
  #take(count) {
    if (this.left < count) throw new BadMessage("a message is cut off");
    this.at += count;
    return this.at - count;
  }

  u8() {
    return this.view.getUint8(this.#take(1));
  }

  u16() {
    return this.view.getUint16(this.#take(2), true);
  }

  u32() {
    return this.view.getUint32(this.#take(4), true);
  }

  area() {
    return { x: this.u16(), y: this.u16(), width: this.u16(), height: this.u16() };
  }

  /** @param {number} count */
  bytes(count) {
    return new Uint8Array(this.view.buffer, this.#take(count), count);
  }

  /** @param {number} count */
  part(count) {
    return new DataView(this.view.buffer, this.#take(count), count);
  }
}

/** The clipboard's MIME types by number, from 1. */
const FORMS = ["text/plain", "text/html", "image/png"];

/** @type {(((reader: Reader) => Message) | undefined)[]} by number, from 1 */
const MESSAGES = [
  (r) => ({ kind: "hello", version: r.u8(), rights: r.u8(), session: r.u32(), width: r.u16(), height: r.u16() }),
  (r) => ({ kind: "size", width: r.u16(), height: r.u16() }),
  (r) => part(r),
  (r) => ({ kind: "cursor", width: r.u16(), height: r.u16(), hotX: r.u16(), hotY: r.u16(), packed: r.bytes(r.u32()) }),
  (r) => ({ kind: "pointer", x: r.u16(), y: r.u16() }),
  (r) => ({ kind: "pong", number: r.u32() }),
  (r) => ({ kind: "rights", rights: r.u8() }),
  (r) => ({ kind: "clipboard", text: new TextDecoder("utf-8", { fatal: true }).decode(r.bytes(r.left)) }),
  (r) => ({ kind: "desktop", running: r.u8() === 1 }),
  (r) => ({ kind: "sound", number: r.u32(), packet: r.bytes(r.left) }),
  (r) => ({ kind: "signal", what: r.u8(), text: new TextDecoder().decode(r.bytes(r.left)) }),
  (r) => ({ kind: "clip", forms: forms(r) }),
  (r) => ({ kind: "sounds", sequence: r.u16(), first: r.u32(), packets: packets(r) }),
  undefined,
  (r) => acted(r),
];

/** @type {((reader: Reader) => Operation)[]} by number, from 1 */
const OPERATIONS = [
  (r) => ({ kind: "exact", length: r.u32(), packed: r.bytes(r.u32()) }),
  (r) => ({ kind: "moves", moves: r.part(r.u16() * 12) }),
  (r) => ({ kind: "jpeg", area: r.area(), body: r.bytes(r.u32()) }),
  (r) => video(r),
  (r) => ({ kind: "video ends", number: r.u8() }),
  (r) => ({ kind: "keep", tiles: r.part(r.u16() * 6) }),
  (r) => ({ kind: "kept", tiles: r.part(r.u16() * 6) }),
  (r) => ({ kind: "over", number: r.u8(), areas: areas(r) }),
];

/**
 * @param {Reader} reader
 * @returns {Message}
 */
function part(reader) {
  const last = (reader.u8() & LAST) !== 0;
  const frame = reader.u32();
  const operations = [];
  while (reader.left) operations.push(one(OPERATIONS, reader, "operation"));
  return { kind: "part", frame, last, operations };
}

/**
 * @param {Reader} reader
 * @returns {Operation}
 */
function video(reader) {
  const [number, flags, area, length] = [reader.u8(), reader.u8(), reader.area(), reader.u32()];
  if (!(flags & TRACKED)) return { kind: "video", number, key: (flags & KEY_FRAME) !== 0, area, body: reader.bytes(length) };
  if (length !== 4) throw new BadMessage("a timestamp has four bytes");
  return { kind: "tracked", number, area, timestamp: reader.u32() };
}

/** @param {Reader} reader */
function areas(reader) {
  const count = reader.u16();
  if (count > MAX_OVERLAYS) throw new BadMessage("too many rects lie over a video region");
  return Array.from({ length: count }, () => reader.area());
}

/** @param {Reader} reader */
function packets(reader) {
  const found = [];
  while (reader.left) found.push(reader.bytes(reader.u16()));
  return found;
}

/** @param {Reader} reader @returns {Message} */
function acted(reader) {
  const [what, times, x, y] = [reader.u8(), reader.u8(), reader.u16(), reader.u16()];
  const path = [];
  while (what === DRAGGED && reader.left) path.push({ x: reader.u16(), y: reader.u16() });
  const keys = new TextDecoder("utf-8", { fatal: true }).decode(reader.bytes(what === KEYS ? reader.left : 0));
  return { kind: "acted", what, times, x, y, keys, path };
}

/** @param {Reader} reader */
function forms(reader) {
  /** @type {Record<string, Uint8Array>} */
  const found = {};
  while (reader.left) {
    const form = FORMS[reader.u8() - 1];
    if (!form) throw new BadMessage("the clipboard has no such type");
    found[form] = reader.bytes(reader.u32());
  }
  return found;
}

/**
 * @template T
 * @param {(((reader: Reader) => T) | undefined)[]} known
 * @param {Reader} reader
 * @param {string} what
 */
function one(known, reader, what) {
  const number = reader.u8();
  const read = known[number - 1];
  if (!read) throw new BadMessage(`there is no ${what} ${number}`);
  return read(reader);
}

/**
 * Read a message of the server.
 * @param {ArrayBuffer} buffer
 * @returns {Message} throws BadMessage
 */
export function parse(buffer) {
  const reader = new Reader(buffer);
  const message = one(MESSAGES, reader, "message");
  if (reader.left) throw new BadMessage("a message is too long");
  return message;
}

/**
 * @param {number} number
 * @param {[size: 8 | 16 | 32, value: number][]} fields
 */
function built(number, ...fields) {
  const view = new DataView(new ArrayBuffer(1 + fields.reduce((sum, [bits]) => sum + bits / 8, 0)));
  view.setUint8(0, number);
  let at = 1;
  for (const [bits, value] of fields) {
    if (bits === 8) view.setUint8(at, value);
    else if (bits === 16) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bits / 8;
  }
  return view.buffer;
}

/**
 * @param {number} number
 * @param {string} text
 */
function textMessage(number, text) {
  const body = new TextEncoder().encode(text);
  const message = new Uint8Array(1 + body.length);
  message[0] = number;
  message.set(body, 1);
  return message.buffer;
}

/** @param {Record<string, Uint8Array>} forms */
function clipboardMessage(forms) {
  const known = FORMS.filter((form) => forms[form]);
  const message = new Uint8Array(1 + known.reduce((sum, form) => sum + 5 + forms[form].length, 0));
  const view = new DataView(message.buffer);
  message[0] = 13;
  let at = 1;
  for (const form of known) {
    view.setUint8(at, FORMS.indexOf(form) + 1);
    view.setUint32(at + 1, forms[form].length, true);
    message.set(forms[form], at + 5);
    at += 5 + forms[form].length;
  }
  return message.buffer;
}

/** @param {number} number @param {Uint8Array} packet */
function audioMessage(number, packet) {
  const message = new Uint8Array(5 + packet.length);
  message[0] = 17;
  new DataView(message.buffer).setUint32(1, number, true);
  message.set(packet, 5);
  return message.buffer;
}

/** @param {number} milliseconds */
const short = (milliseconds) => Math.max(0, Math.min(65535, Math.round(milliseconds)));

/** The viewer's messages that act: pointer, wheel, keys, text, and both forms of the clipboard. */
const INPUT = [3, 4, 5, 6, 7, 13];

/** Whether a viewer's message is a person's input. @param {ArrayBuffer} message */
export function isInput(message) {
  return INPUT.includes(new DataView(message).getUint8(0));
}

/** The viewer's messages: each function returns the bytes of one. */
export const encode = {
  /** @param {boolean} video whether it can decode H.264 */
  hello: (video) => built(1, [8, VERSION], [8, video ? 1 : 0]),
  /** @param {number} frame @param {number} milliseconds from its last part to the screen @param {number} receiving milliseconds from its first part to its last */
  ack: (frame, milliseconds, receiving) => built(2, [32, frame], [16, short(milliseconds)], [16, short(receiving)]),
  /** @param {number} x @param {number} y @param {number} buttons */
  point: (x, y, buttons) => built(3, [16, x], [16, y], [8, buttons]),
  /** @param {number} dx @param {number} dy in pixels */
  wheel: (dx, dy) => built(4, [16, dx], [16, dy]),
  /** @param {number} keysym @param {boolean} down */
  key: (keysym, down) => built(5, [32, keysym], [8, down ? 1 : 0]),
  /** @param {string} text that an input method composed */
  text: (text) => textMessage(6, text),
  /** @param {string} text for the desktop's clipboard */
  copied: (text) => textMessage(7, text),
  /** @param {number} number */
  ping: (number) => built(8, [32, number]),
  /** @param {boolean} visible */
  visible: (visible) => built(9, [8, visible ? 1 : 0]),
  whole: () => built(10),
  /** @param {number} session of the connection before @param {number} frame the latest complete one then */
  resume: (session, frame) => built(14, [32, session], [32, frame]),
  /** @param {number} width @param {number} height in pixels, wanted for the desktop's screen */
  fit: (width, height) => built(19, [16, width], [16, height]),
  /** @param {boolean} listens whether it wants the desktop's sound */
  listens: (listens) => built(12, [8, listens ? 1 : 0]),
  /** @param {number} share of the audio messages of the last second that were lost, in 255ths */
  missed: (share) => built(16, [8, share]),
  /** @param {number} number @param {Uint8Array} packet of Opus: 20 ms of speech */
  spoken: (number, packet) => audioMessage(number, packet),
  /** @param {Record<string, Uint8Array>} forms for the desktop's clipboard: any of text/plain, text/html and image/png */
  clip: (forms) => clipboardMessage(forms),
  /** @param {string} text the offer of a data channel; empty where it has ended */
  signal: (text) => textMessage(11, text),
};
