// The framebuffer shows the golden frames, and stays whole whatever arrives.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { Framebuffer } from "/static/stream/framebuffer.js";
import { parse } from "/static/stream/wire.js";
import { decompress } from "/static/vendor/fzstd.mjs";
import { bytes, vectors } from "./vectors.mjs";

/** @param {Framebuffer} framebuffer */
function digest({ pixels }) {
  const rgb = new Uint8Array(pixels.length * 3);
  pixels.forEach((pixel, index) => rgb.set([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255], index * 3));
  return createHash("sha256").update(rgb).digest("hex");
}

/** @param {Framebuffer} framebuffer @param {import("/static/stream/wire.js").Operation} operation */
function draw(framebuffer, operation) {
  if (operation.kind === "exact") framebuffer.exact(decompress(operation.packed, new Uint8Array(operation.length)));
  else if (operation.kind === "moves") framebuffer.move(operation.moves);
  else if (operation.kind === "keep") framebuffer.keep(operation.tiles);
  else if (operation.kind === "kept") framebuffer.put(operation.tiles);
  else if (operation.kind === "over") framebuffer.check(operation.areas);
}

test("the golden messages show the golden frames", () => {
  let framebuffer = new Framebuffer(1, 1);
  for (const { message, sha256 } of vectors.shown) {
    const read = parse(bytes(message).buffer);
    if (read.kind === "hello") framebuffer = new Framebuffer(read.width, read.height);
    else if (read.kind === "part") read.operations.forEach((operation) => draw(framebuffer, operation));
    assert.equal(digest(framebuffer), sha256);
  }
});

test("the overlays of a video region are within the framebuffer, and bounded in number", () => {
  const over = vectors.shown.slice(1).flatMap(({ message }) => parse(bytes(message).buffer).operations.filter(({ kind }) => kind === "over"));
  assert.deepEqual(
    over.slice(0, 3).map(({ number, areas }) => [number, areas.length]),
    [
      [1, 1],
      [0, 2],
      [1, 0],
    ],
  );
  assert.deepEqual(over[1].areas[1], { x: 50, y: 10, width: 9, height: 33 });
  const framebuffer = new Framebuffer(...vectors.size);
  assert.throws(() => framebuffer.check([{ x: 90, y: 0, width: 9, height: 9 }]), RangeError);
  const many = Uint8Array.from([3, 1, 1, 0, 0, 0, 8, 0, 1, 1, ...new Array(257 * 8).fill(1)]);
  assert.throws(() => parse(many.buffer), /too many/);
});

test("messages that were damaged or cut off are refused or drawn within the framebuffer", () => {
  let seed = 1;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 2000; round++) {
    const message = bytes(vectors.shown[1 + random(vectors.shown.length - 1)].message);
    for (let times = random(4); times >= 0; times--) message[random(message.length)] = random(256);
    const framebuffer = new Framebuffer(...vectors.size);
    try {
      const read = parse(message.slice(0, random(message.length + 1)).buffer);
      if (read.kind === "part") read.operations.filter(({ length }) => !(length > 1e6)).forEach((operation) => draw(framebuffer, operation));
    } catch (error) {
      assert.ok(error instanceof Error);
    }
    assert.equal(framebuffer.pixels.length, vectors.size[0] * vectors.size[1]);
  }
});

test("a tile is kept in one of 4096 slots, and one that was never kept is not shown", () => {
  const framebuffer = new Framebuffer(64, 32);
  const tiles = (slot, x) => new DataView(Uint16Array.of(slot, x, 0).buffer);
  framebuffer.pixels[0] = 0xff0000ff;
  framebuffer.keep(tiles(4095, 0));
  assert.deepEqual(framebuffer.put(tiles(4095, 32)), [{ x: 32, y: 0, width: 32, height: 32 }]);
  assert.equal(framebuffer.pixels[32], 0xff0000ff);
  assert.throws(() => framebuffer.keep(tiles(4096, 0)), /no such slot/);
  assert.throws(() => framebuffer.put(tiles(1, 0)), /empty/);
});

test("rects that overlap their source are moved whole, up and down", () => {
  for (const [from, to] of [[0, 1], [1, 0]]) {
    const framebuffer = new Framebuffer(1, 4);
    framebuffer.pixels.set([1, 2, 3, 4]);
    framebuffer.move(new DataView(Uint16Array.of(0, from, 0, to, 1, 3).buffer));
    assert.deepEqual([...framebuffer.pixels], from ? [2, 3, 4, 4] : [1, 1, 2, 3]);
  }
});
