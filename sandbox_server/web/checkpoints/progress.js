// A line that counts the seconds while something goes on, and then says how it ended.

import { translate } from "./strings.js";

const TICK_MS = 1000;

export class ProgressLine {
  /** @param {HTMLElement} place has the role `status` */
  constructor(place) {
    this.place = place;
  }

  /**
   * @template T
   * @param {"making" | "going"} key a string with `seconds`
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  async during(key, act) {
    let seconds = 0;
    const draw = () => this.show(translate(key, { seconds: seconds++ }));
    draw();
    const timer = setInterval(draw, TICK_MS);
    try {
      return await act();
    } finally {
      clearInterval(timer);
      this.show("");
    }
  }

  /** @param {string} text @param {boolean} [failed] */
  show(text, failed = false) {
    this.place.textContent = text;
    this.place.className = failed ? "problem" : "progress";
  }
}
