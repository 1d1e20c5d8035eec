// The recordings of the screen: finds the one that shows a moment, plays one after the other, and skips the time in which nobody acted.

import { call } from "/static/api.js";

/** @typedef {{name: string, start: number, end: number, over: boolean, pinned: boolean}} Recording times are seconds since the epoch; `over`: it is complete */

/** Seconds that are shown after an act and before the next one; what lies between is skipped if it is longer than MIN_SKIP. */
const AFTER = 4;
const BEFORE = 1;
const MIN_SKIP = 2;

export class Recordings {
  /** @type {Recording[]} */
  all = [];
  /** Whether it is to play: the button says so, whatever the video element is about to load. */
  playing = false;
  /** Whether time in which nobody acted is skipped. */
  skip = true;
  #speed = 1;
  /** @type {[number, number][]} spans in which somebody acted, in order */
  #acts = [];
  /** @type {Recording | undefined} */
  #shown;
  #at = 0;

  /**
   * @param {HTMLVideoElement} video
   * @param {{time: (at: number) => void, seek: (recorded: boolean) => void, state: (playing: boolean) => void}} on the moment that is shown; whether there is a
   *   recording of the moment that was sought; whether it plays
   */
  constructor(video, on) {
    this.video = video;
    this.on = on;
    video.addEventListener("timeupdate", () => this.#advance());
    video.addEventListener("ended", () => this.playing && this.#playNext());
    video.addEventListener("pause", () => !video.ended && !video.seeking && this.#shown && video.readyState > 0 && this.#set(false));
  }

  /** Load the list. */
  async load() {
    this.all = (await call("GET", "/v1/recorder/video")).films;
  }

  /** Tell when somebody acted. @param {[number, number][]} spans in the order of their beginnings */
  setActs(spans) {
    this.#acts = spans;
  }

  /** How many seconds are shown in one. @param {number} speed */
  set speed(speed) {
    this.#speed = speed;
    this.video.playbackRate = this.video.defaultPlaybackRate = speed;
  }

  /** Show a moment; goes on playing from there if it plays. @param {number} at */
  seek(at) {
    this.#at = at;
    const recording = this.all.find(({ start, end }) => start <= at && at <= end + (this.playing ? 0 : 1));
    this.on.seek(Boolean(recording));
    this.video.hidden = !recording;
    if (recording) return this.#show(recording, Math.max(0, at - recording.start));
    this.#shown = undefined;
    this.video.pause();
    if (this.playing) this.#playNext();
  }

  /** Play from the moment that is shown; where it has no recording, from the next one on. */
  play() {
    this.#set(true);
    if (this.#shown && !this.video.ended) this.#start();
    else this.seek(this.#at);
  }

  /** Stand still. */
  pause() {
    this.#set(false);
    this.video.pause();
  }

  /** @param {Recording} recording @param {number} offset */
  #show(recording, offset) {
    if (recording.name === this.#shown?.name && recording.over) {
      this.video.currentTime = offset;
      if (this.playing) this.#start();
      return;
    }
    this.#shown = recording;
    this.video.src = `/v1/recorder/video/${recording.name}${recording.over ? "" : `?at=${Math.round(recording.start + offset)}`}`;
    const loaded = () => {
      if (this.#shown !== recording) return;
      this.video.currentTime = offset;
      if (this.playing) this.#start();
    };
    this.video.addEventListener("loadedmetadata", loaded, { once: true });
  }

  #start() {
    this.video.playbackRate = this.#speed;
    Promise.resolve(this.video.play()).catch((/** @type {Error} */ error) => error.name === "NotAllowedError" && this.#set(false));
  }

  #advance() {
    if (!this.#shown || this.video.seeking || this.video.paused) return;
    this.#at = this.#shown.start + this.video.currentTime;
    this.on.time(this.#at);
    const next = this.skip ? this.#afterIdle(this.#at) : null;
    if (next !== null) this.#goOn(next);
  }

  /** Where to go on while nobody acts; null while somebody does, and after the last act. @param {number} at */
  #afterIdle(at) {
    const next = this.#acts.find(([, until]) => until + AFTER > at);
    if (!next) return null;
    const from = next[0] - BEFORE;
    return from - at > MIN_SKIP ? from : null;
  }

  /** @param {number} at a moment, or that there is none */
  #goOn(at) {
    if (this.all.some(({ start, end }) => start <= at && at < end)) return this.seek(at);
    this.#playNext(at);
  }

  /** Go on with the recording after this one, which ends at `from` or later. @param {number} [from] */
  #playNext(from = 0) {
    const now = this.#shown ? this.#shown.start : this.#at;
    const next = this.all.find(({ start, end }) => start > now && end > from);
    if (next) return this.seek(next.start);
    this.#set(false);
    this.video.pause();
  }

  /** @param {boolean} playing */
  #set(playing) {
    if (this.playing === playing) return;
    this.playing = playing;
    this.on.state(playing);
  }
}
