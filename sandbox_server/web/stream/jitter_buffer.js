// Jitter buffer: plays sound evenly that arrives unevenly, with as little delay as this connection allows.
//
// The target delay is measured: the 99th percentile of the jitter, and one packet more. Where another amount is buffered, periods of the
// sound are left out or repeated until it is right. A lost packet is concealed by the sound before it, which fades.

import { MS, PACKET } from "./audio_format.js";
import { JitterEstimator } from "./jitter_estimator.js";
import { CONCEALED, TimeStretchBuffer } from "./time_stretch.js";

const MIN_TARGET = 40 * MS;
const MAX_TARGET = 300 * MS;
/** The buffer may differ by this much from the target before sound is stretched. */
const TOLERANCE = 15 * MS;
/** What is buffered beyond the target and this much is dropped at once. */
const MAX_EXCESS = 200 * MS;
/** The least time between two places where sound is stretched. */
const STRETCH_INTERVAL = 80 * MS;
/** A longer gap in the numbers is a silence, not a loss. */
const MAX_LOST = 5;

export class JitterBuffer {
  #samples = new TimeStretchBuffer();
  #estimator = new JitterEstimator();
  #target = MIN_TARGET;
  #playing = false;
  #number = -1;
  /** The playback clock: samples played so far. */
  #clock = 0;
  #stretchedAt = 0;
  /** How many samples more than the target would be buffered, had the last packet not been late. */
  #excess = 0;

  /** How many samples are buffered. */
  get waiting() {
    return this.#samples.waiting;
  }

  /** How many samples should be buffered when a packet comes that is not late. */
  get target() {
    return this.#target;
  }

  /**
   * Take a packet that arrived.
   * @param {number} number of the packet; those of silence are not sent
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  put(number, left, right) {
    const missing = this.#number < 0 ? 0 : number - this.#number - 1;
    this.#number = number;
    this.#estimator.add(number, this.#clock);
    this.#target = Math.max(MIN_TARGET, Math.min(MAX_TARGET, this.#estimator.percentile + PACKET));
    if (this.#playing && missing > 0 && missing <= MAX_LOST) this.#conceal(missing * PACKET);
    this.#samples.push(left, right);
    this.#excess = this.waiting + this.#estimator.latest - this.#target;
    if (this.waiting - this.#target > MAX_EXCESS) this.#drop();
  }

  /**
   * Fill what is played next; with silence where nothing is buffered.
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  take(left, right) {
    this.#clock += left.length;
    if (this.#playing) this.#stretch();
    else this.#start();
    if (this.#playing && this.waiting < left.length) this.#underrun(left.length);
    const count = this.#playing ? Math.min(left.length, this.waiting) : 0;
    this.#samples.shift(left, right, count);
    left.fill(0, count);
    right.fill(0, count);
  }

  #start() {
    this.#playing = this.waiting >= this.#target;
    this.#stretchedAt = this.#clock; // no sound comes before it that could be repeated
  }

  /** @param {number} missing samples; an underrun may have concealed some of them already */
  #conceal(missing) {
    const count = missing - this.#samples.concealed;
    if (count > 0) this.#samples.conceal(count);
  }

  #drop() {
    this.#samples.skip(this.waiting - this.#target);
    this.#excess = 0;
  }

  #stretch() {
    if (Math.abs(this.#excess) < TOLERANCE || this.#clock - this.#stretchedAt < STRETCH_INTERVAL) return;
    this.#stretchedAt = this.#clock;
    this.#excess += this.#excess > 0 ? -this.#samples.shorten() : this.#samples.lengthen();
  }

  /** Conceal for a moment; then wait until the target is reached. @param {number} samples */
  #underrun(samples) {
    if (this.#samples.concealed < CONCEALED) this.#samples.conceal(samples);
    else this.#playing = false;
  }
}
