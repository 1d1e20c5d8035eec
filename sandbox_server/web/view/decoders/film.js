// One film: a rect that moves, as H.264. Its pictures lie over the picture in memory, and never in it.

/** @typedef {import("../wire.js").Area} Area */

const CODEC = "avc1.42c034"; // constrained baseline, level 5.2
const MICROSECONDS = 1000;

/** Whether this browser shows films: it does not on pages that are neither https nor localhost. */
export async function showsFilms() {
  if (typeof VideoDecoder === "undefined") return false;
  const { supported } = await VideoDecoder.isConfigSupported({ codec: CODEC, optimizeForLatency: true }).catch(() => ({ supported: false }));
  return supported === true;
}

export class Film {
  /** @type {VideoFrame | undefined} */
  #shown;
  /** @type {VideoDecoder | undefined} */
  #decoder;
  /** @type {{area: Area, done: () => void}[]} */
  #waiting = [];
  /** @type {Area} */
  area = { x: 0, y: 0, width: 0, height: 0 };

  /**
   * Decode the next picture.
   * @param {{area: Area, key: boolean, body: Uint8Array}} picture
   * @returns {Promise<void>} when it can be drawn
   */
  next({ area, key, body }) {
    if (key || !this.#decoder) this.#open();
    const decoder = /** @type {VideoDecoder} */ (this.#decoder);
    return new Promise((done) => {
      this.#waiting.push({ area, done });
      decoder.decode(new EncodedVideoChunk({ type: key ? "key" : "delta", timestamp: performance.now() * MICROSECONDS, data: body }));
    });
  }

  /** @param {OffscreenCanvasRenderingContext2D} context */
  draw(context) {
    const { x, y, width, height } = this.area;
    if (this.#shown) context.drawImage(this.#shown, x, y, width, height);
  }

  close() {
    this.#shown?.close();
    this.#shown = undefined;
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#decoder = undefined;
    for (const { done } of this.#waiting.splice(0)) done();
  }

  #open() {
    if (this.#decoder?.state === "configured") return;
    this.#decoder = new VideoDecoder({ output: (frame) => this.#arrived(frame), error: () => this.close() });
    this.#decoder.configure({ codec: CODEC, optimizeForLatency: true });
  }

  /** @param {VideoFrame} frame */
  #arrived(frame) {
    const waiting = this.#waiting.shift();
    if (!waiting) return frame.close();
    this.#shown?.close();
    this.#shown = frame;
    this.area = waiting.area;
    waiting.done();
  }
}
