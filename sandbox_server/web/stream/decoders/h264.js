// Decodes one video region, which is H.264. Its frames are drawn over the framebuffer and are never part of it.

/** @typedef {import("../wire.js").Area} Area */

const CODEC = "avc1.42c034"; // constrained baseline, level 5.2
const MICROSECONDS = 1000;

/** Whether this browser decodes H.264 with WebCodecs, which it offers only on https and at localhost. */
export async function decodesH264() {
  if (typeof VideoDecoder === "undefined") return false;
  const { supported } = await VideoDecoder.isConfigSupported({ codec: CODEC, optimizeForLatency: true }).catch(() => ({ supported: false }));
  return supported === true;
}

export class H264Decoder {
  /** @type {VideoFrame | undefined} */
  #shown;
  /** @type {VideoDecoder | undefined} */
  #decoder;
  #closed = false;
  /** @type {((frame: VideoFrame | undefined) => void)[]} */
  #waiting = [];
  /** @type {Area} where its latest frame is */
  area = { x: 0, y: 0, width: 0, height: 0 };

  /**
   * Start decoding the next frame, while those before it may still wait to be shown.
   * @param {{key: boolean, body: Uint8Array}} unit an access unit
   * @returns {Promise<VideoFrame | undefined>} for `show`; undefined where the decoder was closed
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
   * Show a frame from now on, in place of the last one.
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
    if (this.#closed) throw new Error("the video region has ended");
    this.#decoder = new VideoDecoder({ output: (frame) => this.#decoded(frame), error: () => this.close() });
    this.#decoder.configure({ codec: CODEC, optimizeForLatency: true });
  }

  /** @param {VideoFrame} frame */
  #decoded(frame) {
    const done = this.#waiting.shift();
    if (done) done(frame);
    else frame.close();
  }
}
