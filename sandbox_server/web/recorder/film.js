// The films: which one shows a moment, and the moment that is shown.

import { call } from "/static/api.js";

/** @typedef {{name: string, start: number, end: number, over: boolean, pinned: boolean}} Film times are seconds of the epoch */

export class Films {
  /** @type {Film[]} */
  all = [];
  /** @type {Film | undefined} */
  #shown;

  /**
   * @param {HTMLVideoElement} video
   * @param {(at: number) => void} moved
   * @param {(filmed: boolean) => void} filmed
   */
  constructor(video, moved, filmed) {
    this.video = video;
    this.filmed = filmed;
    video.addEventListener("timeupdate", () => this.#shown && !video.seeking && !video.paused && moved(this.#shown.start + video.currentTime));
    video.addEventListener("ended", () => this.#next());
  }

  /** Learn what there is. */
  async load() {
    this.all = (await call("GET", "/v1/recorder/video")).films;
  }

  /** Show a moment. @param {number} at */
  seek(at) {
    const film = this.all.find(({ start, end }) => start <= at && at <= end + 1);
    this.filmed(Boolean(film));
    this.video.hidden = !film;
    if (!film) return this.video.pause();
    const within = Math.max(0, at - film.start);
    if (film.name === this.#shown?.name && film.over) {
      this.video.currentTime = within;
      return;
    }
    this.#shown = film;
    this.video.src = `/v1/recorder/video/${film.name}${film.over ? "" : `?at=${Math.round(at)}`}`;
    this.video.addEventListener("loadedmetadata", () => (this.video.currentTime = within), { once: true });
  }

  #next() {
    const next = this.all.find(({ start }) => this.#shown && start > this.#shown.start);
    if (!next) return;
    this.seek(next.start);
    this.video.play();
  }
}
