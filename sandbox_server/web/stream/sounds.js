// Packets of sound in their order, each once, whichever message brought them; and how many messages were lost.

/** Who is as far behind the packet before belongs to another beginning. */
const BEHIND = 500;
const COUNTED = 1 << 16;

export class Sounds {
  #number = -1;
  /** @type {number | undefined} */
  #sequence;
  #expected = 0;
  #came = 0;

  /**
   * Take a message of sound.
   * @param {{kind: "sound", number: number, packet: Uint8Array} | {kind: "sounds", sequence: number, first: number, packets: Uint8Array[]}} message
   * @returns {{number: number, packet: Uint8Array}[]} what is new of it; what comes after what follows it is left out
   */
  take(message) {
    if (message.kind === "sound") return this.#news([message]);
    this.#count(message.sequence);
    return this.#news(message.packets.map((packet, index) => ({ number: message.first + index, packet })));
  }

  /** The share of the messages that did not come since this was asked last, in 255ths; anything that was lost is 1 at least. */
  missed() {
    const share = this.#expected > this.#came ? (this.#expected - this.#came) / this.#expected : 0;
    this.#expected = this.#came = 0;
    return Math.ceil(share * 255);
  }

  /** @param {{number: number, packet: Uint8Array}[]} packets */
  #news(packets) {
    const news = packets.filter(({ number }) => number > this.#number || number < this.#number - BEHIND);
    if (news.length) this.#number = news[news.length - 1].number;
    return news;
  }

  /** @param {number} sequence */
  #count(sequence) {
    const ahead = (sequence - (this.#sequence ?? sequence - 1) + COUNTED) % COUNTED;
    this.#came++;
    if (ahead >= COUNTED / 2) return; // it was overtaken, and counted then
    this.#expected += ahead;
    this.#sequence = sequence;
  }
}
