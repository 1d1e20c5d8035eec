// Frames in their order, each once, whichever way their parts come: as sandbox_server/stream/transport/reorder_buffer.py has it.

import { BadMessage } from "./wire.js";

/** @typedef {import("./wire.js").Message} Message */

const MAX_HELD = 20_000;
const MAX_BYTES = 32 << 20;

export class Order {
  /** @type {Map<number, {frame: number, parts: number, size: Message[]}>} how far each way has got */
  #ways = new Map();
  #frame = 1;
  #part = 0;
  /** @type {Map<string, Message[]>} by frame and part */
  #held = new Map();

  /** @param {number} way that has ended; another one may come in its place */
  forget(way) {
    this.#ways.delete(way);
  }

  /**
   * @param {number} way
   * @param {Message} message that came this way
   * @returns {Message[]} what is to be done now; throws BadMessage
   */
  take(way, message) {
    if (message.kind !== "size" && message.kind !== "part") return [message];
    const state = this.#ways.get(way) ?? { frame: 0, parts: 0, size: [] };
    this.#ways.set(way, state);
    if (message.kind === "size") {
      state.size.push(message);
      return [];
    }
    state.parts = message.frame === state.frame ? state.parts + 1 : 0;
    state.frame = message.frame;
    const messages = [...state.size.splice(0), message];
    if (message.frame < this.#frame || (message.frame === this.#frame && state.parts < this.#part)) return [];
    this.#held.set(`${message.frame} ${state.parts}`, messages);
    if (this.#held.size > MAX_HELD) throw new BadMessage("too much is ahead of its time");
    return this.#next();
  }

  /** @returns {Message[]} what is held and is next now */
  #next() {
    const done = [];
    for (let messages; (messages = this.#held.get(`${this.#frame} ${this.#part}`)); ) {
      this.#held.delete(`${this.#frame} ${this.#part}`);
      done.push(...messages);
      const last = messages[messages.length - 1];
      if (last.kind === "part" && last.last) [this.#frame, this.#part] = [this.#frame + 1, 0];
      else this.#part++;
    }
    return done;
  }
}

/** Puts the pieces of long messages together, which come in order. */
export class Joiner {
  /** @type {Uint8Array[]} */
  #waiting = [];
  #bytes = 0;

  /**
   * @param {ArrayBuffer} piece whose first byte says whether more follow
   * @returns {ArrayBuffer | undefined} the message, if this is its last piece; throws BadMessage
   */
  take(piece) {
    const [mark] = new Uint8Array(piece, 0, 1);
    if (mark > 1) throw new BadMessage("this is no piece of a message");
    this.#waiting.push(new Uint8Array(piece, 1));
    this.#bytes += piece.byteLength - 1;
    if (this.#bytes > MAX_BYTES) throw new BadMessage("a message is too long");
    return mark ? undefined : this.#joined();
  }

  #joined() {
    const message = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#waiting.splice(0)) {
      message.set(piece, at);
      at += piece.length;
    }
    this.#bytes = 0;
    return message.buffer;
  }
}
