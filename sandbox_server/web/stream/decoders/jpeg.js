// Pictures like photographs, at first sight: the browser decodes them, beside everything else.

/** @typedef {import("../wire.js").Area} Area */

/** @type {OffscreenCanvas | undefined} */
let desk;

/**
 * Begin to decode.
 * @param {Uint8Array} body
 * @returns {Promise<ImageBitmap>}
 */
export function decodeJpeg(body) {
  const plain = { colorSpaceConversion: /** @type {const} */ ("none"), premultiplyAlpha: /** @type {const} */ ("none") };
  return createImageBitmap(new Blob([/** @type {BlobPart} */ (body)], { type: "image/jpeg" }), plain);
}

/**
 * The pixels of what was decoded.
 * @param {ImageBitmap} bitmap
 * @param {Area} area
 * @returns {Uint32Array} without gaps between rows
 */
export function pixelsOf(bitmap, { width, height }) {
  desk ??= new OffscreenCanvas(width, height);
  if (desk.width < width) desk.width = width;
  if (desk.height < height) desk.height = height;
  const context = /** @type {OffscreenCanvasRenderingContext2D} */ (desk.getContext("2d", { alpha: false, willReadFrequently: true }));
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
}
