// The picture, in memory: what is sent is put together here and drawn from here, so that no pixel is ever read back from a canvas.

import { drawExact } from "./decoders/exact.js";

/** @typedef {import("./wire.js").Area} Area */

const OPAQUE = 0xff000000;

export class Picture {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** Red, green, blue and alpha from the lowest byte. */
    this.pixels = new Uint32Array(width * height).fill(OPAQUE);
    /** @type {Area[]} what has changed since it was last taken */
    this.changed = [];
  }

  /**
   * Draw exact rects.
   * @param {Uint8Array} packed
   * @returns {Area[]} where; throws BadMessage
   */
  exact(packed) {
    const areas = drawExact(packed, this);
    this.changed.push(...areas);
    return areas;
  }

  /**
   * Make moves, in their order.
   * @param {DataView} moves
   * @returns {Area[]} where to; throws RangeError for what is not within the picture
   */
  move(moves) {
    const areas = [];
    for (let at = 0; at < moves.byteLength; at += 12) {
      const [fromX, fromY, x, y, width, height] = [0, 2, 4, 6, 8, 10].map((offset) => moves.getUint16(at + offset, true));
      const area = { x, y, width, height };
      this.#check(area);
      this.#check({ x: fromX, y: fromY, width, height });
      for (let row = 0; row < height; row++) {
        const one = y > fromY ? height - 1 - row : row;
        const from = (fromY + one) * this.width + fromX;
        this.pixels.copyWithin((y + one) * this.width + x, from, from + width);
      }
      areas.push(area);
    }
    this.changed.push(...areas);
    return areas;
  }

  /**
   * Put pixels where they belong.
   * @param {Area} area
   * @param {Uint32Array} pixels without gaps between rows
   */
  paste(area, pixels) {
    this.#check(area);
    for (let row = 0; row < area.height; row++) {
      this.pixels.set(pixels.subarray(row * area.width, (row + 1) * area.width), (area.y + row) * this.width + area.x);
    }
    this.changed.push(area);
  }

  /** @returns {Area[]} what has changed since the last call */
  take() {
    const taken = this.changed;
    this.changed = [];
    return taken;
  }

  /** @param {Area} area */
  #check({ x, y, width, height }) {
    if (!width || !height || x + width > this.width || y + height > this.height) throw new RangeError("this is not within the picture");
  }
}
