// Decodes exact rects: one colour, a palette, or three predicted planes. docs/stream-protocol.md, "Exact rects".

import { BadMessage } from "../wire.js";

/**
 * @typedef {import("../wire.js").Area} Area
 * @typedef {{pixels: Uint32Array, width: number, height: number}} Target
 * @typedef {(packed: Uint8Array, at: number, area: Area, target: Target) => number} Draw draws one rect, and returns where the next one begins
 */

const HEAD = 9;
const OPAQUE = 0xff000000;

/**
 * Draw rects into a picture.
 * @param {Uint8Array} packed after decompression
 * @param {Target} target
 * @returns {Area[]} where; throws BadMessage
 */
export function drawExact(packed, target) {
  const areas = [];
  for (let at = 0; at < packed.length; ) {
    const area = head(packed, at, target);
    const draw = KINDS[packed[at + 8]];
    if (!draw) throw new BadMessage("there is no such kind of rect");
    at = draw(packed, at + HEAD, area, target);
    areas.push(area);
  }
  return areas;
}

/**
 * @param {Uint8Array} packed
 * @param {number} at
 * @param {Target} target
 * @returns {Area}
 */
function head(packed, at, target) {
  if (at + HEAD > packed.length) throw new BadMessage("a rect is cut off");
  const [x, y, width, height] = [0, 2, 4, 6].map((offset) => packed[at + offset] | (packed[at + offset + 1] << 8));
  if (!width || !height || x + width > target.width || y + height > target.height) throw new BadMessage("a rect is not within the picture");
  return { x, y, width, height };
}

/** @type {Draw[]} by number */
const KINDS = [oneColour, indexed, planes];

/**
 * @param {Uint8Array} packed
 * @param {number} at
 * @param {number} end
 */
function bounded(packed, at, end) {
  if (end > packed.length) throw new BadMessage("a rect is cut off");
  return at;
}

/**
 * @param {Uint8Array} packed
 * @param {number} at
 */
function colour(packed, at) {
  return (OPAQUE | packed[at] | (packed[at + 1] << 8) | (packed[at + 2] << 16)) >>> 0;
}

/** @type {Draw} */
function oneColour(packed, at, area, target) {
  bounded(packed, at, at + 3);
  const value = colour(packed, at);
  for (let row = 0; row < area.height; row++) {
    const to = (area.y + row) * target.width + area.x;
    target.pixels.fill(value, to, to + area.width);
  }
  return at + 3;
}

/** @type {Draw} */
function indexed(packed, at, area, target) {
  bounded(packed, at, at + 1);
  const most = packed[at];
  const bits = most < 2 ? 1 : most < 4 ? 2 : most < 16 ? 4 : 8;
  const rowBytes = Math.ceil((area.width * bits) / 8);
  let from = at + 1 + 3 * (most + 1);
  bounded(packed, at, from + rowBytes * area.height);
  const colours = Uint32Array.from({ length: most + 1 }, (_, index) => colour(packed, at + 1 + 3 * index));
  for (let row = 0; row < area.height; row++, from += rowBytes) {
    expand(packed, from, bits, colours, target.pixels, (area.y + row) * target.width + area.x, area.width);
  }
  return from;
}

/**
 * Expand one row of palette indices.
 * @param {Uint8Array} packed
 * @param {number} from
 * @param {number} bits
 * @param {Uint32Array} colours
 * @param {Uint32Array} pixels
 * @param {number} to
 * @param {number} width
 */
function expand(packed, from, bits, colours, pixels, to, width) {
  if (bits === 8) {
    for (let x = 0; x < width; x++) pixels[to + x] = lookUp(colours, packed[from + x]);
    return;
  }
  const mask = (1 << bits) - 1;
  for (let x = 0, bit = 0; x < width; x++, bit += bits) {
    pixels[to + x] = lookUp(colours, (packed[from + (bit >> 3)] >> (8 - bits - (bit & 7))) & mask);
  }
}

/**
 * @param {Uint32Array} colours
 * @param {number} index
 */
function lookUp(colours, index) {
  if (index >= colours.length) throw new BadMessage("a colour is not in the palette");
  return colours[index];
}

/** @type {Draw} */
function planes(packed, at, area, target) {
  const { width, height } = area;
  const count = width * height;
  bounded(packed, at, at + 3 * count);
  const [green, red, blue] = [0, 1, 2].map((plane) => predicted(packed, at + plane * count, width, height));
  for (let row = 0, from = 0; row < height; row++) {
    let to = (area.y + row) * target.width + area.x;
    for (let x = 0; x < width; x++, from++, to++) {
      const g = green[from];
      target.pixels[to] = (OPAQUE | ((red[from] + g) & 255) | (g << 8) | (((blue[from] + g) & 255) << 16)) >>> 0;
    }
  }
  return at + 3 * count;
}

/**
 * Undo the prediction of one plane: a value is its residual and the median of left, above and their gradient (the MED predictor of LOCO-I).
 * @param {Uint8Array} packed
 * @param {number} from
 * @param {number} width
 * @param {number} height
 */
function predicted(packed, from, width, height) {
  const plane = new Uint8Array(width * height);
  for (let row = 0, at = 0; row < height; row++) {
    for (let x = 0; x < width; x++, at++) {
      const left = x ? plane[at - 1] : row ? plane[at - width] : 0;
      const above = row ? plane[at - width] : left;
      const corner = x && row ? plane[at - width - 1] : above;
      const low = left < above ? left : above;
      const high = left < above ? above : left;
      const gradient = left + above - corner;
      plane[at] = packed[from + at] + (gradient < low ? low : gradient > high ? high : gradient);
    }
  }
  return plane;
}
