// Decodes JPEG, in which photographs are first sent. The browser does it off this thread.

/** @typedef {import("../wire.js").Area} Area */

/** @type {OffscreenCanvas | undefined} */
let scratch;

/**
 * Start decoding.
 * @param {Uint8Array} body
 * @returns {Promise<ImageBitmap>}
 */
export function decodeJpeg(body) {
  const plain = { colorSpaceConversion: /** @type {const} */ ("none"), premultiplyAlpha: /** @type {const} */ ("none") };
  return createImageBitmap(new Blob([/** @type {BlobPart} */ (body)], { type: "image/jpeg" }), plain);
}

/**
 * The pixels of a decoded image.
 * @param {ImageBitmap} bitmap
 * @param {Area} area
 * @returns {Uint32Array} without gaps between rows
 */
export function pixelsOf(bitmap, { width, height }) {
  scratch ??= new OffscreenCanvas(width, height);
  if (scratch.width < width) scratch.width = width;
  if (scratch.height < height) scratch.height = height;
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (scratch.getContext("2d", { alpha: false, willReadFrequently: true }));
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
}
