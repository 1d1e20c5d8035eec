// Joins the fragments of long messages, which arrive in order on a data channel.

import { BadMessage } from "./wire.js";

const MAX_BYTES = 32 << 20;

export class Reassembler {
  /** @type {Uint8Array[]} */
  #fragments = [];
  #bytes = 0;

  /**
   * @param {ArrayBuffer} fragment whose first byte says whether more follow
   * @returns {ArrayBuffer | undefined} the message, if this is its last fragment; throws BadMessage
   */
  take(fragment) {
    const [more] = new Uint8Array(fragment, 0, 1);
    if (more > 1) throw new BadMessage("a fragment begins with 0 or 1");
    this.#fragments.push(new Uint8Array(fragment, 1));
    this.#bytes += fragment.byteLength - 1;
    if (this.#bytes > MAX_BYTES) throw new BadMessage("a message is too long");
    return more ? undefined : this.#joined();
  }

  #joined() {
    const message = new Uint8Array(this.#bytes);
    let at = 0;
    for (const fragment of this.#fragments.splice(0)) {
      message.set(fragment, at);
      at += fragment.length;
    }
    this.#bytes = 0;
    return message.buffer;
  }
}
