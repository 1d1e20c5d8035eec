// Renders frames: decodes them as they arrive, draws them in order, and paces those that come at even intervals.

import { decompress } from "/static/vendor/fzstd.mjs";
import { H264Decoder } from "./decoders/h264.js";
import { decodeJpeg, pixelsOf } from "./decoders/jpeg.js";
import { Framebuffer } from "./framebuffer.js";
import { FramePacer } from "./frame_pacer.js";

/** @typedef {import("./wire.js").Area} Area */
/** @typedef {import("./wire.js").Operation} Operation */
/** @typedef {{map: {kind: string, area: Area}[], tracked: boolean, age: number | undefined}} Shown the codec map; whether video came by the track, and the age of its frame */
/** @typedef {{operation: Operation, bitmap?: Promise<ImageBitmap>, decoder?: H264Decoder, frame?: Promise<VideoFrame | undefined>}} Begun */

const MAX_CHANGED = 24;
/** Frames are not paced for this long after the person did something. */
const INPUT_MS = 500;
/** A page that is not visible gets no callbacks of refreshes. */
const NO_REFRESH_MS = 50;

export class Renderer {
  #framebuffer = new Framebuffer(1, 1);
  #image = new ImageData(1, 1);
  /** @type {Map<number, H264Decoder>} of the video regions that are received */
  #receiving = new Map();
  /** @type {Map<number, H264Decoder>} of the video regions that are shown */
  #shown = new Map();
  /** @type {Map<number, Area[]>} where the framebuffer lies over a video region */
  #overlays = new Map();
  /** Of frames with video, and of frames while there is none. */
  #videoPacer = new FramePacer();
  #framePacer = new FramePacer();
  #inputAt = -INPUT_MS;
  /** @type {Promise<unknown>} */
  #order = Promise.resolve();
  /** @type {{kind: string, area: Area}[]} */
  #map = [];
  /** Whether to record the codec map. */
  mapped = false;
  /** @type {Promise<number | undefined>[]} for each video frame of the track in this frame, its age once it is shown */
  #tracked = [];
  /** @type {Promise<unknown>} */
  #reported = Promise.resolve();

  /**
   * @param {OffscreenCanvas} canvas
   * @param {import("./video_track.js").VideoTrack} track
   */
  constructor(canvas, track) {
    this.canvas = canvas;
    this.track = track;
    this.context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false, desynchronized: true }));
  }

  /** @returns {number} how many frames were late since the last call */
  takeLate() {
    const late = this.#videoPacer.late + this.#framePacer.late;
    this.#videoPacer.late = this.#framePacer.late = 0;
    return late;
  }

  /** The person does something, and waits for its effect: do not pace the next frames. */
  noteInput() {
    this.#inputAt = performance.now();
  }

  /**
   * Take a size of the desktop. A framebuffer of another size is dropped.
   * @param {number} width
   * @param {number} height
   * @returns {Promise<boolean>} whether the size has changed, once it has
   */
  resize(width, height) {
    this.#receiving.clear();
    return this.#then(() => {
      this.#endVideos();
      this.track.stop();
      if (this.#framebuffer.width === width && this.#framebuffer.height === height) return false;
      this.#framebuffer = new Framebuffer(width, height);
      this.#image = new ImageData(/** @type {any} */ (new Uint8ClampedArray(this.#framebuffer.pixels.buffer)), width, height);
      this.canvas.width = width;
      this.canvas.height = height;
      return true;
    });
  }

  /**
   * Apply a part of a frame, and draw the frame after its last part.
   * @param {{last: boolean, operations: Operation[]}} part
   * @returns {Promise<Shown>} once the frame is ready to be shown; rejects where the part is invalid
   */
  take({ last, operations }) {
    const arrived = performance.now();
    const begun = operations.map((operation) => this.#begin(operation));
    const pacer = last ? this.#pacer(begun, arrived) : undefined;
    const done = this.#then(async () => {
      for (const one of begun) await this.#apply(one);
      return last ? { map: this.#map.splice(0), ages: this.#tracked.splice(0) } : { map: [], ages: [] };
    });
    if (pacer) this.#then(() => this.#pace(pacer, arrived));
    if (last) this.#then(() => this.#draw());
    const reported = Promise.all([done, this.#reported]).then(async ([{ map, ages: pending }]) => {
      const ages = await Promise.all(pending);
      return { map, tracked: ages.length > 0, age: ages[ages.length - 1] };
    });
    this.#reported = reported.catch(() => undefined);
    return reported;
  }

  /**
   * @param {Begun[]} begun the end of a frame
   * @param {number} arrived
   * @returns {FramePacer | undefined} the pacer of this frame, if it is paced
   */
  #pacer(begun, arrived) {
    const isVideo = begun.some(({ decoder }) => decoder);
    if (!isVideo && this.#receiving.size) return undefined;
    const pacer = isVideo ? this.#videoPacer : this.#framePacer;
    pacer.arrived(arrived);
    return isVideo || pacer.even ? pacer : undefined;
  }

  /** @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
  #then(work) {
    const done = this.#order.then(work);
    this.#order = done.catch(() => undefined);
    return done;
  }

  /** @param {Operation} operation @returns {Begun} */
  #begin(operation) {
    if (operation.kind === "jpeg") return { operation, bitmap: deferred(decodeJpeg(operation.body)) };
    if (operation.kind === "video ends") this.#receiving.delete(operation.number);
    if (operation.kind !== "video") return { operation };
    const decoder = this.#receiving.get(operation.number) ?? new H264Decoder();
    this.#receiving.set(operation.number, decoder);
    return { operation, decoder, frame: deferred(decoder.decode(operation)) };
  }

  /** @param {Begun} begun */
  async #apply({ operation, bitmap, decoder, frame }) {
    switch (operation.kind) {
      case "exact":
        this.#note("exact", this.#framebuffer.exact(decompress(operation.packed, new Uint8Array(operation.length))));
        break;
      case "moves":
        this.#note("moves", this.#framebuffer.move(operation.moves));
        break;
      case "keep":
        this.#framebuffer.keep(operation.tiles);
        break;
      case "kept":
        this.#note("kept", this.#framebuffer.put(operation.tiles));
        break;
      case "jpeg":
        this.#framebuffer.paste(operation.area, pixelsOf(await /** @type {Promise<ImageBitmap>} */ (bitmap), operation.area));
        this.#note("jpeg", [operation.area]);
        break;
      case "video":
        if (this.#shown.get(operation.number) !== decoder) this.#endVideo(operation.number);
        this.#shown.set(operation.number, /** @type {H264Decoder} */ (decoder));
        decoder?.show(await frame, operation.area);
        this.#note("video", [operation.area]);
        break;
      case "tracked":
        this.#tracked.push(this.track.place(operation));
        this.#note("video", [operation.area]);
        break;
      case "video ends":
        this.#endVideo(operation.number);
        this.#then(this.track.end(operation.number));
        this.#overlays.delete(operation.number);
        break;
      case "over":
        this.#framebuffer.check(operation.areas);
        this.#overlays.set(operation.number, operation.areas);
        this.track.overlay(operation.number, operation.areas);
    }
  }

  /**
   * Wait until a frame is due.
   * @param {FramePacer} pacer
   * @param {number} arrived
   */
  async #pace(pacer, arrived) {
    let now = performance.now();
    while (now - this.#inputAt > INPUT_MS) {
      const timestamp = await refresh();
      now = timestamp === undefined ? performance.now() : pacer.refreshed(performance.now(), timestamp);
      if (pacer.isDue(now, arrived)) break;
    }
    pacer.shown(now, arrived);
  }

  /** @param {number} number of a video region; the framebuffer is drawn again where it was */
  #endVideo(number) {
    const decoder = this.#shown.get(number);
    if (decoder?.area.width) this.#framebuffer.changed.push(decoder.area);
    decoder?.close();
    this.#shown.delete(number);
  }

  #endVideos() {
    for (const number of [...this.#shown.keys()]) this.#endVideo(number);
    this.#overlays.clear();
  }

  /**
   * @param {string} kind
   * @param {Area[]} areas
   */
  #note(kind, areas) {
    if (this.mapped) this.#map.push(...areas.map((area) => ({ kind, area })));
  }

  #draw() {
    const changed = this.#framebuffer.take();
    this.#drawFramebuffer(changed.length > MAX_CHANGED ? [boundingBox(changed)] : changed);
    for (const [number, decoder] of this.#shown) {
      decoder.draw(this.context);
      this.#drawFramebuffer(this.#overlays.get(number) ?? []);
    }
  }

  /** @param {Area[]} areas */
  #drawFramebuffer(areas) {
    for (const { x, y, width, height } of areas) this.context.putImageData(this.#image, 0, 0, x, y, width, height);
  }
}

/** @template T @param {Promise<T>} work that is awaited, with its failure, when its turn comes @returns {Promise<T>} */
function deferred(work) {
  work.catch(() => undefined);
  return work;
}

/** @returns {Promise<number | undefined>} before the next refresh of the screen: its timestamp; undefined where the page is not visible */
function refresh() {
  return new Promise((done) => {
    const timeout = setTimeout(() => done(undefined), NO_REFRESH_MS);
    requestAnimationFrame((timestamp) => {
      clearTimeout(timeout);
      done(timestamp);
    });
  });
}

/** @param {Area[]} areas @returns {Area} the smallest that holds them all */
function boundingBox(areas) {
  const x = Math.min(...areas.map((area) => area.x));
  const y = Math.min(...areas.map((area) => area.y));
  const right = Math.max(...areas.map((area) => area.x + area.width));
  const bottom = Math.max(...areas.map((area) => area.y + area.height));
  return { x, y, width: right - x, height: bottom - y };
}
