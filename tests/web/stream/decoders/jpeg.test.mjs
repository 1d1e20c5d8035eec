// JPEG: decoded by the browser as it is, and read without gaps between rows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals } from "../../browser/dom.mjs";

/** A canvas that gives the pixels of what was drawn last. */
class Canvas {
  static made = 0;
  constructor(width, height) {
    Canvas.made++;
    Object.assign(this, { width, height });
  }
  getContext(_, options) {
    assert.equal(options.willReadFrequently, true);
    return {
      drawImage: (bitmap) => (/** @type {any} */ (this).drawn = bitmap),
      getImageData: (x, y, width, height) => ({ data: Uint8ClampedArray.from({ length: width * height * 4 }, (_, at) => /** @type {any} */ (this).drawn.first + at) }),
    };
  }
}

/** @type {any[]} */
const decoded = [];
globals({ OffscreenCanvas: Canvas, createImageBitmap: async (blob, options) => (decoded.push([blob.type, options]), { first: 1 }) });
const { decodeJpeg, pixelsOf } = await import("/static/stream/decoders/jpeg.js");

test("colours are decoded as they were sent", async () => {
  await decodeJpeg(Uint8Array.of(0xff, 0xd8));
  assert.deepEqual(decoded, [["image/jpeg", { colorSpaceConversion: "none", premultiplyAlpha: "none" }]]);
});

test("an image's pixels are read, and it is closed", () => {
  let closed = 0;
  const bitmap = /** @type {any} */ ({ first: 1, close: () => closed++ });
  assert.deepEqual([...pixelsOf(bitmap, { x: 9, y: 9, width: 2, height: 1 })], [0x04030201, 0x08070605]);
  assert.equal(closed, 1);
});

test("one canvas serves them all, as large as the largest", () => {
  const before = Canvas.made;
  const bitmap = () => /** @type {any} */ ({ first: 0, close: () => undefined });
  assert.equal(pixelsOf(bitmap(), { x: 0, y: 0, width: 64, height: 8 }).length, 512);
  assert.equal(pixelsOf(bitmap(), { x: 0, y: 0, width: 8, height: 64 }).length, 512);
  assert.equal(Canvas.made, before);
});
