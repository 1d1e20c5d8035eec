// Reorder buffer: gives the parts of frames in order and each once, whichever transport they come by.
// sandbox_server/stream/transport/order.py is its counterpart.

import { BadMessage } from "./wire.js";

/** @typedef {import("./wire.js").Message} Message */

/** Parts that are held until those before them arrive. */
const MAX_HELD = 20_000;

export class ReorderBuffer {
  /** @type {Map<number, {frame: number, parts: number, size: Message[]}>} the latest frame of each transport, and its parts before the current one */
  #transports = new Map();
  #frame = 1;
  #part = 0;
  /** @type {Map<string, Message[]>} by frame and part */
  #held = new Map();

  /** @param {number} transport that has ended; another one may come in its place */
  forget(transport) {
    this.#transports.delete(transport);
  }

  /**
   * @param {number} transport that the message came by
   * @param {Message} message
   * @returns {Message[]} the messages that are next in order; throws BadMessage
   */
  take(transport, message) {
    if (message.kind !== "size" && message.kind !== "part") return [message];
    const state = this.#transports.get(transport) ?? { frame: 0, parts: 0, size: [] };
    this.#transports.set(transport, state);
    if (message.kind === "size") {
      state.size.push(message);
      return [];
    }
    state.parts = message.frame === state.frame ? state.parts + 1 : 0;
    state.frame = message.frame;
    const messages = [...state.size.splice(0), message];
    if (message.frame < this.#frame || (message.frame === this.#frame && state.parts < this.#part)) return [];
    this.#held.set(`${message.frame} ${state.parts}`, messages);
    if (this.#held.size > MAX_HELD) throw new BadMessage("too many parts came before those that they follow");
    return this.#next();
  }

  /** @returns {Message[]} what is held and next in order */
  #next() {
    const next = [];
    for (let messages; (messages = this.#held.get(`${this.#frame} ${this.#part}`)); ) {
      this.#held.delete(`${this.#frame} ${this.#part}`);
      next.push(...messages);
      const last = messages[messages.length - 1];
      if (last.kind === "part" && last.last) [this.#frame, this.#part] = [this.#frame + 1, 0];
      else this.#part++;
    }
    return next;
  }
}
