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
  #closed = false;
  /** @type {((frame: VideoFrame | undefined) => void)[]} */
  #waiting = [];
  /** @type {Area} where its latest picture is */
  area = { x: 0, y: 0, width: 0, height: 0 };

  /**
   * Begin to decode the next picture, while those before it are still to be shown.
   * @param {{key: boolean, body: Uint8Array}} picture
   * @returns {Promise<VideoFrame | undefined>} what `show` takes
   */
  decode({ key, body }) {
    return new Promise((done) => {
      if (!this.#decoder) this.#open();
      const decoder = /** @type {VideoDecoder} */ (this.#decoder);
      decoder.decode(new EncodedVideoChunk({ type: key ? "key" : "delta", timestamp: performance.now() * MICROSECONDS, data: body }));
      this.#waiting.push(done);
    });
  }

  /**
   * Show a picture from now on.
   * @param {VideoFrame | undefined} frame
   * @param {Area} area
   */
  show(frame, area) {
    if (!frame) return;
    this.#shown?.close();
    this.#shown = frame;
    this.area = area;
  }

  /** @param {OffscreenCanvasRenderingContext2D} context */
  draw(context) {
    const { x, y, width, height } = this.area;
    if (this.#shown) context.drawImage(this.#shown, x, y, width, height);
  }

  close() {
    this.#closed = true;
    this.#shown?.close();
    this.#shown = undefined;
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.#decoder = undefined;
    for (const done of this.#waiting.splice(0)) done(undefined);
  }

  #open() {
    if (this.#closed) throw new Error("the film has ended");
    this.#decoder = new VideoDecoder({ output: (frame) => this.#arrived(frame), error: () => this.close() });
    this.#decoder.configure({ codec: CODEC, optimizeForLatency: true });
  }

  /** @param {VideoFrame} frame */
  #arrived(frame) {
    const done = this.#waiting.shift();
    if (done) done(frame);
    else frame.close();
  }
}
