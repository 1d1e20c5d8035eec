// The picture, in memory: what is sent is put together here and drawn from here, so that no pixel is ever read back from a canvas.

import { drawExact } from "./decoders/exact.js";

/** @typedef {import("./wire.js").Area} Area */

const OPAQUE = 0xff000000;
const TILE = 32;
const MOST_KEPT = 4096;

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
    /** @type {(Uint32Array | undefined)[]} */
    this.kept = [];
  }

  /**
   * Keep tiles as they are now.
   * @param {DataView} tiles
   */
  keep(tiles) {
    for (const { slot, area } of this.#tiles(tiles)) {
      if (slot >= MOST_KEPT) throw new RangeError("so many tiles are not kept");
      const kept = (this.kept[slot] ??= new Uint32Array(TILE * TILE));
      for (let row = 0; row < TILE; row++) {
        const from = (area.y + row) * this.width + area.x;
        kept.set(this.pixels.subarray(from, from + TILE), row * TILE);
      }
    }
  }

  /**
   * Put tiles that are kept where they are seen now.
   * @param {DataView} tiles
   * @returns {Area[]} where
   */
  put(tiles) {
    const areas = [];
    for (const { slot, area } of this.#tiles(tiles)) {
      const kept = this.kept[slot];
      if (!kept) throw new RangeError("nothing is kept there");
      this.paste(area, kept);
      areas.push(area);
    }
    return areas;
  }

  /** @param {DataView} tiles */
  *#tiles(tiles) {
    for (let at = 0; at < tiles.byteLength; at += 6) {
      const [slot, x, y] = [0, 2, 4].map((offset) => tiles.getUint16(at + offset, true));
      const area = { x, y, width: TILE, height: TILE };
      this.#check(area);
      yield { slot, area };
    }
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

  /** @param {Area[]} areas that have to lie within the picture; throws RangeError */
  check(areas) {
    for (const area of areas) this.#check(area);
  }

  /** @param {Area} area */
  #check({ x, y, width, height }) {
    if (!width || !height || x + width > this.width || y + height > this.height) throw new RangeError("this is not within the picture");
  }
}
