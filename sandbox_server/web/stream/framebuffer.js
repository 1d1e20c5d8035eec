// The framebuffer: the desktop's pixels in memory. They are drawn on the canvas and never read back from it.

import { drawExact } from "./decoders/exact.js";

/** @typedef {import("./wire.js").Area} Area */

const OPAQUE = 0xff000000;
const TILE = 32;
/** Slots of the tile cache. */
const CACHE_SLOTS = 4096;

export class Framebuffer {
  /**
   * @param {number} width
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    /** Red, green, blue and alpha from the lowest byte. */
    this.pixels = new Uint32Array(width * height).fill(OPAQUE);
    /** @type {Area[]} damage since `take` was last called */
    this.changed = [];
    /** @type {(Uint32Array | undefined)[]} the tile cache */
    this.cache = [];
  }

  /**
   * Copy tiles into the cache.
   * @param {DataView} tiles
   */
  keep(tiles) {
    for (const { slot, area } of this.#tiles(tiles)) {
      if (slot >= CACHE_SLOTS) throw new RangeError("the tile cache has no such slot");
      const tile = (this.cache[slot] ??= new Uint32Array(TILE * TILE));
      for (let row = 0; row < TILE; row++) {
        const from = (area.y + row) * this.width + area.x;
        tile.set(this.pixels.subarray(from, from + TILE), row * TILE);
      }
    }
  }

  /**
   * Paste tiles from the cache.
   * @param {DataView} tiles
   * @returns {Area[]} where
   */
  put(tiles) {
    const areas = [];
    for (const { slot, area } of this.#tiles(tiles)) {
      const tile = this.cache[slot];
      if (!tile) throw new RangeError("this slot of the tile cache is empty");
      this.paste(area, tile);
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
   * Copy rects within the framebuffer, in order.
   * @param {DataView} moves
   * @returns {Area[]} where to; throws RangeError for a rect outside the framebuffer
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
   * Paste pixels.
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

  /** @returns {Area[]} the damage since the last call */
  take() {
    const taken = this.changed;
    this.changed = [];
    return taken;
  }

  /** @param {Area[]} areas throws RangeError if one is not within the framebuffer */
  check(areas) {
    for (const area of areas) this.#check(area);
  }

  /** @param {Area} area */
  #check({ x, y, width, height }) {
    if (!width || !height || x + width > this.width || y + height > this.height) throw new RangeError("this is outside the framebuffer");
  }
}
