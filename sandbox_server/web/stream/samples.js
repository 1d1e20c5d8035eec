// Samples that wait to be played, which can be shortened, lengthened and continued where they are like themselves: the period of a sound is
// left out, done twice or repeated, and nobody hears where (WSOLA, Verhelst and Roelands 1993; NetEq does the same).

import { MS } from "./lateness.js";

const ROOM = 1 << 17;
const MASK = ROOM - 1;
/** Over so many samples one end fades into the other. */
const SEAM = 5 * MS;
const [SHORTEST, LONGEST] = [SEAM, 15 * MS];
/** Samples and periods that are looked at: every so many. */
const STRIDE = 4;
/** What continues a sound has faded out after so much. */
export const FADED = 60 * MS;

export class Samples {
  #left = new Float32Array(ROOM);
  #right = new Float32Array(ROOM);
  #read = LONGEST + SEAM;
  #write = LONGEST + SEAM;
  /** What continues the sound: the period before `from`, over and over. */
  #continued = { from: 0, period: 0 };

  /** How many wait. */
  get waiting() {
    return this.#write - this.#read;
  }

  /** How many of the latest are no more than the sound before them continued. */
  get continued() {
    return this.#continued.period ? this.#write - this.#continued.from : 0;
  }

  /**
   * Add some; what continued the sound until then fades into them.
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  push(left, right) {
    for (let at = 0; at < left.length; at++) {
      const old = this.#continued.period && at < SEAM ? 1 - at / SEAM : 0;
      const [before, gain] = old ? this.#again(this.#write + at) : [0, 0];
      const to = (this.#write + at) & MASK;
      this.#left[to] = left[at] * (1 - old) + this.#left[before] * gain * old;
      this.#right[to] = right[at] * (1 - old) + this.#right[before] * gain * old;
    }
    this.#write += left.length;
    this.#continued.period = 0;
  }

  /**
   * Go on with the sound as it was last, softer and softer.
   * @param {number} count of samples
   */
  continue(count) {
    if (!this.#continued.period) this.#continued = { from: this.#write, period: this.#period(this.#write - SEAM, -1) };
    for (let at = 0; at < count; at++, this.#write++) {
      const [before, gain] = this.#again(this.#write);
      this.#left[this.#write & MASK] = this.#left[before] * gain;
      this.#right[this.#write & MASK] = this.#right[before] * gain;
    }
  }

  /**
   * Take some that wait.
   * @param {Float32Array} left
   * @param {Float32Array} right
   * @param {number} count
   */
  shift(left, right, count) {
    for (let at = 0; at < count; at++, this.#read++) {
      left[at] = this.#left[this.#read & MASK];
      right[at] = this.#right[this.#read & MASK];
    }
  }

  /** Leave out a period. @returns {number} of how many samples; 0 where too few wait */
  shorten() {
    if (this.waiting < LONGEST + SEAM) return 0;
    const period = this.#period(this.#read, 1);
    this.skip(period);
    return period;
  }

  /** Do a period again. @returns {number} of how many samples; 0 where too few wait */
  lengthen() {
    if (this.waiting < SEAM) return 0;
    const period = this.#period(this.#read, -1);
    for (let at = 0; at < SEAM; at++) this.#fade(this.#read - period + at, this.#read + at, this.#read - period + at, at / SEAM);
    this.#read -= period;
    return period;
  }

  /**
   * Leave out as many as that, and fade. What was before them is before the rest then.
   * @param {number} count no more than wait, less a seam
   */
  skip(count) {
    for (let at = 0; at < SEAM; at++) this.#fade(this.#read + count + at, this.#read + at, this.#read + count + at, at / SEAM);
    for (let at = 1; at <= LONGEST + SEAM; at++) this.#fade(this.#read + count - at, this.#read - at, this.#read - at, 1);
    this.#read += count;
  }

  /** @param {number} to @param {number} one @param {number} other @param {number} share of the other */
  #fade(to, one, other, share) {
    for (const plane of [this.#left, this.#right]) plane[to & MASK] = plane[one & MASK] * (1 - share) + plane[other & MASK] * share;
  }

  /** @param {number} at @returns {[index: number, gain: number]} what is heard there where the sound is continued */
  #again(at) {
    const { from, period } = this.#continued;
    return [(from - period + ((at - from) % period)) & MASK, Math.max(0, 1 - (at - from) / FADED)];
  }

  /**
   * After how many samples the sound is most like what it is there.
   * @param {number} from
   * @param {1 | -1} towards later or earlier ones
   */
  #period(from, towards) {
    let [best, most] = [LONGEST, 0];
    for (let period = SHORTEST; period <= LONGEST; period += STRIDE) {
      const like = this.#likeness(from, from + towards * period);
      if (like > most) [best, most] = [period, like];
    }
    return best;
  }

  /** @param {number} one @param {number} other @returns {number} their correlation, by the loudness of the other */
  #likeness(one, other) {
    let [product, power] = [0, 1e-9];
    for (let at = 0; at < SEAM; at += STRIDE) {
      const [a, b] = [(one + at) & MASK, (other + at) & MASK];
      const there = this.#left[b] + this.#right[b];
      product += (this.#left[a] + this.#right[a]) * there;
      power += there * there;
    }
    return product / Math.sqrt(power);
  }
}
