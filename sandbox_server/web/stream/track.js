// The worker's part in a film that comes as an RTP track, where there is no WebCodecs: where it is, and when its pictures are seen.

/** @typedef {import("./wire.js").Area} Area */

/** A picture that is not seen by then was left out, or nobody tells when it is. */
export const PATIENCE_MS = 300;
/** So many in a row, from the first on: the browser does not show what it said that it would. */
export const MOST_UNSEEN = 30;
/** So many in a row where some were seen before: a link that loses packets may hold up some for a while. */
export const MOST_LOST = 150;

/** @param {number} one @param {number} other timestamps of RTP, which turn @returns {boolean} whether one is not before the other */
export const isReached = (one, other) => ((one - other) | 0) >= 0;

export class Track {
  /** @type {{timestamp: number, done: (age: number | undefined) => void}[]} */
  #expected = [];
  /** @type {number | undefined} of the picture that is seen */
  #seen;
  #number = -1;
  /** @type {Area | undefined} */
  #area;
  /** How many films it carried. */
  #count = 0;
  #unseen = 0;
  #mostUnseen = MOST_UNSEEN;

  /**
   * @param {(message: object) => void} tell the page, which has the element that shows it
   * @param {() => void} failed called where nothing is seen of what came
   */
  constructor(tell, failed) {
    this.tell = tell;
    this.failed = failed;
  }

  /**
   * The picture with this timestamp belongs there.
   * @param {{number: number, area: Area, timestamp: number}} picture
   * @returns {Promise<number | undefined>} once it is seen: milliseconds since it had arrived, where that is known
   */
  place({ number, area, timestamp }) {
    const known = this.#area;
    if (number !== this.#number) this.#count++;
    if (!known || number !== this.#number || ["x", "y", "width", "height"].some((side) => known[/** @type {keyof Area} */ (side)] !== area[/** @type {keyof Area} */ (side)])) {
      this.tell({ kind: "track", do: "place", area, timestamp });
    }
    [this.#number, this.#area] = [number, area];
    if (this.#seen !== undefined && isReached(this.#seen, timestamp)) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#expected.push({ timestamp, done });
      setTimeout(() => this.#miss(timestamp), PATIENCE_MS);
    });
  }

  /**
   * There the picture lies over the film.
   * @param {number} number
   * @param {Area[]} areas
   */
  over(number, areas) {
    if (number === this.#number) this.tell({ kind: "track", do: "over", areas });
  }

  /** @param {number} number of a film, which is no more; what may be another one's is not @returns {() => void} to be done when the picture below is drawn */
  end(number) {
    if (number !== this.#number || number < 0) return () => {};
    const count = this.#count;
    [this.#number, this.#area] = [-1, undefined];
    return () => count === this.#count && this.tell({ kind: "track", do: "end" });
  }

  /** There is no film any more. */
  stop() {
    this.#seen = undefined;
    this.end(this.#number)();
  }

  /** @param {{timestamp: number | undefined, age: number | undefined}} picture that is seen; without a timestamp: the latest */
  pictured({ timestamp, age }) {
    this.#unseen = 0;
    this.#mostUnseen = MOST_LOST;
    this.#seen = timestamp;
    this.#done(timestamp, age);
  }

  /** @param {number} timestamp of a picture that is waited for no longer */
  #miss(timestamp) {
    if (!this.#expected.length || !isReached(timestamp, this.#expected[0].timestamp)) return;
    this.#done(timestamp);
    if (++this.#unseen === this.#mostUnseen) this.failed();
  }

  /** @param {number | undefined} timestamp @param {number} [age] */
  #done(timestamp, age) {
    while (this.#expected.length && (timestamp === undefined || isReached(timestamp, this.#expected[0].timestamp))) {
      this.#expected.shift()?.done(age);
    }
  }
}
