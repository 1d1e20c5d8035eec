// H.264: frames in their order, each closed when the next is shown.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../../browser/dom.mjs";

/** A decoder of the browser's, which the test has decode. */
class Decoder {
  /** @type {Decoder[]} */
  static made = [];
  static async isConfigSupported({ codec }) {
    return { supported: codec === "avc1.42c034" };
  }
  state = "configured";
  /** @type {any[]} */
  chunks = [];
  constructor(callbacks) {
    Object.assign(this, callbacks);
    Decoder.made.push(this);
  }
  configure(config) {
    this.config = config;
  }
  decode(chunk) {
    this.chunks.push(chunk);
  }
  close() {
    this.state = "closed";
  }
}

globals({ VideoDecoder: Decoder, EncodedVideoChunk: class { constructor(chunk) { Object.assign(this, chunk); } } });
const { H264Decoder, decodesH264 } = await import("/static/stream/decoders/h264.js");

const AREA = { x: 1, y: 2, width: 3, height: 4 };
/** @returns {any} */
const frame = () => ({ closed: 0, close() { this.closed++; } });

beforeEach(() => (Decoder.made.length = 0));

test("frames are decoded for low latency, and given in the order in which they were begun", async () => {
  const decoder = new H264Decoder();
  const decoding = [true, false].map((key) => decoder.decode({ key, body: Uint8Array.of(1) }));
  const [browser] = /** @type {any[]} */ (Decoder.made);
  assert.deepEqual([browser.config.optimizeForLatency, browser.chunks.map(({ type }) => type)], [true, ["key", "delta"]]);
  const [first, second] = [frame(), frame()];
  browser.output(first);
  browser.output(second);
  assert.deepEqual(await Promise.all(decoding), [first, second]);
});

test("a frame is drawn where it belongs until the next is shown, and closed then", () => {
  const decoder = new H264Decoder();
  const [first, second] = [frame(), frame()];
  const drawn = [];
  const context = /** @type {any} */ ({ drawImage: (...given) => drawn.push(given) });
  decoder.draw(context);
  decoder.show(first, AREA);
  decoder.show(undefined, { ...AREA, x: 9 });
  decoder.draw(context);
  decoder.show(second, AREA);
  assert.deepEqual([drawn, first.closed, second.closed], [[[first, 1, 2, 3, 4]], 1, 0]);
});

test("closing it closes the frame and the decoder, and whoever waits gets nothing", async () => {
  const decoder = new H264Decoder();
  const shown = frame();
  decoder.show(shown, AREA);
  const waiting = decoder.decode({ key: true, body: Uint8Array.of(1) });
  decoder.close();
  assert.deepEqual([await waiting, shown.closed, Decoder.made[0].state], [undefined, 1, "closed"]);
  await assert.rejects(decoder.decode({ key: true, body: Uint8Array.of(1) }), /has ended/);
});

test("a frame that comes when nobody waits is closed", () => {
  const decoder = new H264Decoder();
  decoder.decode({ key: true, body: Uint8Array.of(1) });
  const [one, other] = [frame(), frame()];
  /** @type {any} */ (Decoder.made[0]).output(one);
  /** @type {any} */ (Decoder.made[0]).output(other);
  assert.deepEqual([one.closed, other.closed], [0, 1]);
});

test("an error of the browser's ends it", async () => {
  const decoder = new H264Decoder();
  const waiting = decoder.decode({ key: true, body: Uint8Array.of(1) });
  /** @type {any} */ (Decoder.made[0]).error(new Error());
  assert.equal(await waiting, undefined);
});

test("whether the browser decodes it is asked, and is no where it cannot say", async () => {
  assert.equal(await decodesH264(), true);
  globals({ VideoDecoder: { isConfigSupported: () => Promise.reject(new TypeError()) } });
  assert.equal(await decodesH264(), false);
  globals({ VideoDecoder: undefined });
  assert.equal(await decodesH264(), false);
});
