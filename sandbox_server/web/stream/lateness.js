// How unevenly sound arrives: how long a packet has to wait so that hardly any comes too late.

export const RATE = 48000;
export const MS = RATE / 1000;
/** Samples of a packet. */
export const PACKET = 20 * MS;
/** Packets that are looked back on: ten seconds of them. */
const WINDOW = 500;
/** Packets among which one is the soonest: two seconds of them, so that a clock that goes slower than the desktop's is no lateness. */
const NEAR = 100;
/** The share of them that may come too late. */
const TOO_LATE = 0.01;
/** Who is as much earlier or later than the packet before belongs to another beginning. */
const ELSEWHEN = RATE;

export class Lateness {
  #times = new Float64Array(NEAR);
  #late = new Float64Array(WINDOW);
  #count = 0;
  #spread = 0;
  #time = 0;
  #latest = 0;

  /**
   * Note that a packet arrived.
   * @param {number} number
   * @param {number} now in samples, by the clock that plays
   */
  add(number, now) {
    const time = now - number * PACKET;
    if (Math.abs(time - this.#time) > ELSEWHEN) this.#count = 0;
    this.#time = this.#times[this.#count % NEAR] = time;
    const soonest = Math.min(...this.#times.subarray(0, Math.min(this.#count + 1, NEAR)));
    this.#latest = this.#late[this.#count++ % WINDOW] = time - soonest;
    const sorted = this.#late.slice(0, Math.min(this.#count, WINDOW)).sort();
    this.#spread = sorted[Math.ceil(sorted.length * (1 - TOO_LATE)) - 1];
  }

  /** Samples by which packets come later than the soonest around them, but for the few that may be too late. */
  get spread() {
    return this.#spread;
  }

  /** Samples by which the last packet came later than the soonest. */
  get latest() {
    return this.#latest;
  }
}
