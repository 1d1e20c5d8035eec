// Time stretching: a ring buffer of samples that is shortened, lengthened or continued by whole periods of the sound, which nobody hears
// (WSOLA, Verhelst and Roelands 1993; NetEq does the same).

import { MS } from "./audio_format.js";

const ROOM = 1 << 17;
const MASK = ROOM - 1;
/** Samples of a cross-fade. */
const SEAM = 5 * MS;
const [SHORTEST, LONGEST] = [SEAM, 15 * MS];
/** The correlation looks at every fourth sample and period. */
const STRIDE = 4;
/** Concealment has faded out after this many samples. */
export const CONCEALED = 60 * MS;

export class TimeStretchBuffer {
  #left = new Float32Array(ROOM);
  #right = new Float32Array(ROOM);
  #read = LONGEST + SEAM;
  #write = LONGEST + SEAM;
  /** Concealment repeats the period before `from`. */
  #concealment = { from: 0, period: 0 };

  /** How many samples are buffered. */
  get waiting() {
    return this.#write - this.#read;
  }

  /** How many of the latest samples are concealment. */
  get concealed() {
    return this.#concealment.period ? this.#write - this.#concealment.from : 0;
  }

  /**
   * Add samples; concealment before them fades into them.
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  push(left, right) {
    for (let at = 0; at < left.length; at++) {
      const old = this.#concealment.period && at < SEAM ? 1 - at / SEAM : 0;
      const [before, gain] = old ? this.#repeated(this.#write + at) : [0, 0];
      const to = (this.#write + at) & MASK;
      this.#left[to] = left[at] * (1 - old) + this.#left[before] * gain * old;
      this.#right[to] = right[at] * (1 - old) + this.#right[before] * gain * old;
    }
    this.#write += left.length;
    this.#concealment.period = 0;
  }

  /**
   * Conceal a loss: repeat the last period, softer and softer.
   * @param {number} count of samples
   */
  conceal(count) {
    if (!this.#concealment.period) this.#concealment = { from: this.#write, period: this.#period(this.#write - SEAM, -1) };
    for (let at = 0; at < count; at++, this.#write++) {
      const [before, gain] = this.#repeated(this.#write);
      this.#left[this.#write & MASK] = this.#left[before] * gain;
      this.#right[this.#write & MASK] = this.#right[before] * gain;
    }
  }

  /**
   * Take samples from the front.
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

  /** Leave out a period. @returns {number} its length in samples; 0 where too few are buffered */
  shorten() {
    if (this.waiting < LONGEST + SEAM) return 0;
    const period = this.#period(this.#read, 1);
    this.skip(period);
    return period;
  }

  /** Repeat a period. @returns {number} its length in samples; 0 where too few are buffered */
  lengthen() {
    if (this.waiting < SEAM) return 0;
    const period = this.#period(this.#read, -1);
    for (let at = 0; at < SEAM; at++) this.#fade(this.#read - period + at, this.#read + at, this.#read - period + at, at / SEAM);
    this.#read -= period;
    return period;
  }

  /**
   * Drop samples with a cross-fade, and keep the sound before them, of which concealment may need a period.
   * @param {number} count at most what is buffered, less a cross-fade
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

  /** @param {number} at @returns {[index: number, gain: number]} the sample that concealment repeats there, and its gain */
  #repeated(at) {
    const { from, period } = this.#concealment;
    return [(from - period + ((at - from) % period)) & MASK, Math.max(0, 1 - (at - from) / CONCEALED)];
  }

  /**
   * The period of the sound: the lag with the greatest correlation.
   * @param {number} from
   * @param {1 | -1} towards later or earlier samples
   */
  #period(from, towards) {
    let [best, most] = [LONGEST, 0];
    for (let period = SHORTEST; period <= LONGEST; period += STRIDE) {
      const correlation = this.#correlation(from, from + towards * period);
      if (correlation > most) [best, most] = [period, correlation];
    }
    return best;
  }

  /** @param {number} one @param {number} other @returns {number} their correlation, normalised by the other's power */
  #correlation(one, other) {
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
