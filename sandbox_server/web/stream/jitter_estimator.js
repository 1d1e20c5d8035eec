// Estimates network jitter: how long an audio packet has to wait so that hardly any comes too late.

import { PACKET, SAMPLE_RATE } from "./audio_format.js";

/** Packets of the histogram: ten seconds. */
const HISTORY = 500;
/** Packets among which the minimum delay is sought: two seconds. A clock slower than the desktop's is then no jitter. */
const MINIMUM_WINDOW = 100;
/** The share of packets that may come too late. */
const LATE_SHARE = 0.01;
/** A jump of the delay by more than this many samples starts a new stream. */
const DISCONTINUITY = SAMPLE_RATE;

export class JitterEstimator {
  #delays = new Float64Array(MINIMUM_WINDOW);
  #jitter = new Float64Array(HISTORY);
  #count = 0;
  #percentile = 0;
  #delay = 0;
  #latest = 0;

  /**
   * Note that a packet arrived.
   * @param {number} number of the packet
   * @param {number} now in samples, by the playback clock
   */
  add(number, now) {
    const delay = now - number * PACKET;
    if (Math.abs(delay - this.#delay) > DISCONTINUITY) this.#count = 0;
    this.#delay = this.#delays[this.#count % MINIMUM_WINDOW] = delay;
    const minimum = Math.min(...this.#delays.subarray(0, Math.min(this.#count + 1, MINIMUM_WINDOW)));
    this.#latest = this.#jitter[this.#count++ % HISTORY] = delay - minimum;
    const sorted = this.#jitter.slice(0, Math.min(this.#count, HISTORY)).sort();
    this.#percentile = sorted[Math.ceil(sorted.length * (1 - LATE_SHARE)) - 1];
  }

  /** The 99th percentile of the jitter, in samples. */
  get percentile() {
    return this.#percentile;
  }

  /** The jitter of the last packet, in samples: how much later than the earliest of its neighbours it came. */
  get latest() {
    return this.#latest;
  }
}
