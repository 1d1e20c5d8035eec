// Sound that arrives unevenly, played evenly: as little of it waits as this connection allows.

export const RATE = 48000;
const MS = RATE / 1000;
const LEAST = 40 * MS;
const MOST = 300 * MS;
const STEP = 20 * MS;
/** Nothing was missing for so long: less may wait. */
const CALM = 15 * RATE;
/** More than this beyond what should wait is left out. */
const SLACK = 60 * MS;
const ROOM = 2 * RATE;

export class Jitter {
  #left = new Float32Array(ROOM);
  #right = new Float32Array(ROOM);
  #write = 0;
  #read = 0;
  #target = LEAST;
  #playing = false;
  /** Whether it ran dry, and nobody knows yet whether that was silence. */
  #dry = false;
  #calm = 0;
  #number = -1;

  /** How many samples wait. */
  get waiting() {
    return this.#write - this.#read;
  }

  /** How many should wait before it plays. */
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
    const follows = number === this.#number + 1;
    if (this.#dry && follows) this.#target = Math.min(MOST, this.#target + STEP); // it came too late
    this.#dry = false;
    this.#number = number;
    for (let at = 0; at < left.length; at++, this.#write++) {
      this.#left[this.#write % ROOM] = left[at];
      this.#right[this.#write % ROOM] = right[at];
    }
    if (this.waiting > this.#target + SLACK) this.#read = this.#write - this.#target;
  }

  /**
   * Fill what is to be played next; silence where nothing waits.
   * @param {Float32Array} left
   * @param {Float32Array} right
   */
  take(left, right) {
    if (!this.#playing) this.#playing = this.waiting >= this.#target;
    const count = this.#playing ? Math.min(left.length, this.waiting) : 0;
    for (let at = 0; at < count; at++, this.#read++) {
      left[at] = this.#left[this.#read % ROOM];
      right[at] = this.#right[this.#read % ROOM];
    }
    left.fill(0, count);
    right.fill(0, count);
    if (this.#playing && count < left.length) [this.#playing, this.#dry] = [false, true];
    this.#count(left.length);
  }

  /** @param {number} samples that were played */
  #count(samples) {
    this.#calm = this.#dry ? 0 : this.#calm + samples;
    if (this.#calm < CALM) return;
    this.#calm = 0;
    this.#target = Math.max(LEAST, this.#target - STEP);
  }
}
