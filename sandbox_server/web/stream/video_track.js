// Video that comes as an RTP track, where there is no WebCodecs: tells the page where it lies, and learns when its frames are shown.

/** @typedef {import("./wire.js").Area} Area */

/** A frame that is not shown by then was dropped, or the browser does not report it. */
export const SHOW_TIMEOUT_MS = 300;
/** After so many in a row that were not shown, from the first on, the browser does not show the track at all. */
export const MAX_NEVER_SHOWN = 30;
/** The same where some were shown before: a link that loses packets may delay frames for a while. */
export const MAX_NOT_SHOWN = 150;

/** @param {number} one @param {number} other RTP timestamps, which wrap around @returns {boolean} whether one is not before the other */
export const isReached = (one, other) => ((one - other) | 0) >= 0;

export class VideoTrack {
  /** @type {{timestamp: number, done: (age: number | undefined) => void}[]} */
  #expected = [];
  /** @type {number | undefined} timestamp of the frame that is shown */
  #shown;
  #number = -1;
  /** @type {Area | undefined} */
  #area;
  /** How many video regions it carried. */
  #count = 0;
  #notShown = 0;
  #maxNotShown = MAX_NEVER_SHOWN;

  /**
   * @param {(message: object) => void} post tells the page, which has the video element
   * @param {() => void} failed called where the browser shows nothing of the track
   */
  constructor(post, failed) {
    this.post = post;
    this.failed = failed;
  }

  /**
   * Place the frame with this timestamp.
   * @param {{number: number, area: Area, timestamp: number}} frame of a video region
   * @returns {Promise<number | undefined>} once it is shown: milliseconds since it arrived, where that is known
   */
  place({ number, area, timestamp }) {
    const known = this.#area;
    if (number !== this.#number) this.#count++;
    if (!known || number !== this.#number || ["x", "y", "width", "height"].some((side) => known[/** @type {keyof Area} */ (side)] !== area[/** @type {keyof Area} */ (side)])) {
      this.post({ kind: "track", do: "place", area, timestamp });
    }
    [this.#number, this.#area] = [number, area];
    if (this.#shown !== undefined && isReached(this.#shown, timestamp)) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#expected.push({ timestamp, done });
      setTimeout(() => this.#miss(timestamp), SHOW_TIMEOUT_MS);
    });
  }

  /**
   * Cut out where the framebuffer lies over the video.
   * @param {number} number
   * @param {Area[]} areas
   */
  overlay(number, areas) {
    if (number === this.#number) this.post({ kind: "track", do: "overlay", areas });
  }

  /** @param {number} number of a video region that ends @returns {() => void} hides it, unless another has begun; to be called once the framebuffer is drawn */
  end(number) {
    if (number !== this.#number || number < 0) return () => {};
    const count = this.#count;
    [this.#number, this.#area] = [-1, undefined];
    return () => count === this.#count && this.post({ kind: "track", do: "end" });
  }

  /** Every video region has ended. */
  stop() {
    this.#shown = undefined;
    this.end(this.#number)();
  }

  /** @param {{timestamp: number | undefined, age: number | undefined}} frame that is shown; without a timestamp: the latest */
  presented({ timestamp, age }) {
    this.#notShown = 0;
    this.#maxNotShown = MAX_NOT_SHOWN;
    this.#shown = timestamp;
    this.#done(timestamp, age);
  }

  /** @param {number} timestamp of a frame that is waited for no longer */
  #miss(timestamp) {
    if (!this.#expected.length || !isReached(timestamp, this.#expected[0].timestamp)) return;
    this.#done(timestamp);
    if (++this.#notShown === this.#maxNotShown) this.failed();
  }

  /** @param {number | undefined} timestamp @param {number} [age] */
  #done(timestamp, age) {
    while (this.#expected.length && (timestamp === undefined || isReached(timestamp, this.#expected[0].timestamp))) {
      this.#expected.shift()?.done(age);
    }
  }
}
