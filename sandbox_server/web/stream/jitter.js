// Sound that arrives unevenly, played evenly: as little of it waits as this connection allows.
//
// How much should wait is measured: as much as the latest of a hundred packets came later than the soonest, and one packet more. Where another
// amount waits, periods of the sound are left out or done twice until it is right. What is missing is the sound before it, which fades.

import { Lateness, MS, PACKET } from "./lateness.js";
import { FADED, Samples } from "./samples.js";

const LEAST = 40 * MS;
const MOST = 300 * MS;
/** So much more or less may wait than should. */
const SLACK = 15 * MS;
/** What is beyond that is left out at once. */
const HEAP = 200 * MS;
/** Between two places at which the sound is made shorter or longer. */
const BETWEEN = 80 * MS;
/** More packets that do not come are a silence. */
const MOST_LOST = 5;

export class Jitter {
  #samples = new Samples();
  #lateness = new Lateness();
  #target = LEAST;
  #playing = false;
  #number = -1;
  /** Samples that were played: the clock. */
  #clock = 0;
  #adjusted = 0;
  /** How many more would wait than should, had the last packet not been late. */
  #excess = 0;

  /** How many samples wait. */
  get waiting() {
    return this.#samples.waiting;
  }

  /** How many should wait when a packet comes that is not late. */
  get target() {
    return this.#target;
  }

  /**
   * Take what arrived.
   * @param {number} number of the packet; those of silence are not sent
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  put(number, left, right) {
    const missing = this.#number < 0 ? 0 : number - this.#number - 1;
    this.#number = number;
    this.#lateness.add(number, this.#clock);
    this.#target = Math.max(LEAST, Math.min(MOST, this.#lateness.spread + PACKET));
    if (this.#playing && missing > 0 && missing <= MOST_LOST) this.#fill(missing * PACKET);
    this.#samples.push(left, right);
    this.#excess = this.waiting + this.#lateness.latest - this.#target;
    if (this.waiting - this.#target > HEAP) this.#skip();
  }

  /**
   * Fill what is to be played next; silence where nothing waits.
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  take(left, right) {
    this.#clock += left.length;
    if (this.#playing) this.#adjust();
    else this.#begin();
    if (this.#playing && this.waiting < left.length) this.#continue(left.length);
    const count = this.#playing ? Math.min(left.length, this.waiting) : 0;
    this.#samples.shift(left, right, count);
    left.fill(0, count);
    right.fill(0, count);
  }

  #begin() {
    this.#playing = this.waiting >= this.#target;
    this.#adjusted = this.#clock; // there is nothing before it to be done again
  }

  /** @param {number} missing samples, of which some may have been filled in when nothing waited */
  #fill(missing) {
    const count = missing - this.#samples.continued;
    if (count > 0) this.#samples.continue(count);
  }

  #skip() {
    this.#samples.skip(this.waiting - this.#target);
    this.#excess = 0;
  }

  #adjust() {
    if (Math.abs(this.#excess) < SLACK || this.#clock - this.#adjusted < BETWEEN) return;
    this.#adjusted = this.#clock;
    this.#excess += this.#excess > 0 ? -this.#samples.shorten() : this.#samples.lengthen();
  }

  /** It ran dry: go on for a moment; then wait until enough is there. @param {number} samples */
  #continue(samples) {
    if (this.#samples.continued < FADED) this.#samples.continue(samples);
    else this.#playing = false;
  }
}
