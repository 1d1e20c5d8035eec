// How unevenly sound arrives: how long a packet has to wait so that hardly any comes too late.

export const RATE = 48000;
export const MS = RATE / 1000;
/** Samples of a packet. */
export const PACKET = 20 * MS;
/** Packets that are looked back on: ten seconds of them. */
const WINDOW = 500;
/** The share of them that may come too late. */
const TOO_LATE = 0.01;
/** Who is as much earlier or later than the packet before belongs to another beginning. */
const ELSEWHEN = RATE;

export class Lateness {
  #late = new Float64Array(WINDOW);
  #count = 0;
  #spread = 0;
  #latest = 0;
  #earliest = 0;

  /**
   * Note that a packet arrived.
   * @param {number} number
   * @param {number} now in samples, by the clock that plays
   */
  add(number, now) {
    const late = now - number * PACKET;
    if (Math.abs(late - this.#latest) > ELSEWHEN) this.#count = 0;
    this.#latest = late;
    this.#late[this.#count++ % WINDOW] = late;
    const sorted = this.#late.slice(0, Math.min(this.#count, WINDOW)).sort();
    this.#earliest = sorted[0];
    this.#spread = sorted[Math.ceil(sorted.length * (1 - TOO_LATE)) - 1] - sorted[0];
  }

  /** Samples between the packets that came soonest and latest, without the few that may be too late. */
  get spread() {
    return this.#spread;
  }

  /** Samples by which the last packet came later than the soonest. */
  get latest() {
    return this.#latest - this.#earliest;
  }
}
