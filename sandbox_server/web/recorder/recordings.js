// The recordings of the screen: finds the one that shows a moment, and plays one after the other.

import { call } from "/static/api.js";

/** @typedef {{name: string, start: number, end: number, over: boolean, pinned: boolean}} Recording times are seconds since the epoch; `over`: it is complete */

export class Recordings {
  /** @type {Recording[]} */
  all = [];
  /** @type {Recording | undefined} */
  #shown;

  /**
   * @param {HTMLVideoElement} video
   * @param {(at: number) => void} onTime the moment that is shown
   * @param {(recorded: boolean) => void} onSeek whether there is a recording of the moment that was sought
   */
  constructor(video, onTime, onSeek) {
    this.video = video;
    this.onSeek = onSeek;
    video.addEventListener("timeupdate", () => this.#shown && !video.seeking && !video.paused && onTime(this.#shown.start + video.currentTime));
    video.addEventListener("ended", () => this.#playNext());
  }

  /** Load the list. */
  async load() {
    this.all = (await call("GET", "/v1/recorder/video")).films;
  }

  /** Show a moment. @param {number} at */
  seek(at) {
    const recording = this.all.find(({ start, end }) => start <= at && at <= end + 1);
    this.onSeek(Boolean(recording));
    this.video.hidden = !recording;
    if (!recording) return this.video.pause();
    const offset = Math.max(0, at - recording.start);
    if (recording.name === this.#shown?.name && recording.over) {
      this.video.currentTime = offset;
      return;
    }
    this.#shown = recording;
    this.video.src = `/v1/recorder/video/${recording.name}${recording.over ? "" : `?at=${Math.round(at)}`}`;
    this.video.addEventListener("loadedmetadata", () => (this.video.currentTime = offset), { once: true });
  }

  #playNext() {
    const next = this.all.find(({ start }) => this.#shown && start > this.#shown.start);
    if (!next) return;
    this.seek(next.start);
    this.video.play();
  }
}
