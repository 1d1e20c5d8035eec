// Exact rects: each kind to the bit, and nothing that is not one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawExact } from "/static/stream/decoders/exact.js";
import { BadMessage } from "/static/stream/wire.js";

const [SOLID, PALETTE, PLANES] = [0, 1, 2];

/** @param {number} width @param {number} height */
const target = (width, height) => ({ width, height, pixels: new Uint32Array(width * height) });
/** @param {{pixels: Uint32Array}} drawn */
const hex = ({ pixels }) => [...pixels].map((pixel) => pixel.toString(16).padStart(8, "0"));
/** @param {number[]} area @param {number[]} body */
const rect = ([x, y, width, height], kind, ...body) => [x, 0, y, 0, width, 0, height, 0, kind, ...body];
/** @param {...number[]} rects */
const packed = (...rects) => Uint8Array.from(rects.flat());

test("one colour fills its rect alone", () => {
  const drawn = target(3, 2);
  assert.deepEqual(drawExact(packed(rect([1, 0, 2, 1], SOLID, 0x11, 0x22, 0x33)), drawn), [{ x: 1, y: 0, width: 2, height: 1 }]);
  assert.deepEqual(hex(drawn), ["00000000", "ff332211", "ff332211", "00000000", "00000000", "00000000"]);
});

test("a palette has as many bits for an index as it needs, and each row begins with a byte", () => {
  const two = target(3, 2);
  drawExact(packed(rect([0, 0, 3, 2], PALETTE, 1, 0, 0, 0, 1, 1, 1, 0b10100000, 0b01000000)), two);
  assert.deepEqual(hex(two).map((pixel) => pixel.slice(-1)), ["1", "0", "1", "0", "1", "0"]);

  const four = target(5, 1);
  const colours = [0, 1, 2, 3].flatMap((value) => [value, value, value]);
  drawExact(packed(rect([0, 0, 5, 1], PALETTE, 3, ...colours, 0b00011011, 0b10000000)), four);
  assert.deepEqual(hex(four).map((pixel) => pixel.slice(-1)), ["0", "1", "2", "3", "2"]);

  const five = target(3, 1);
  drawExact(packed(rect([0, 0, 3, 1], PALETTE, 4, ...[0, 1, 2, 3, 4].flatMap((value) => [value, value, value]), 0x43, 0x10)), five);
  assert.deepEqual(hex(five).map((pixel) => pixel.slice(-1)), ["4", "3", "1"]);

  const many = target(3, 1);
  drawExact(packed(rect([0, 0, 3, 1], PALETTE, 16, ...Array.from({ length: 17 }, (_, value) => [value, value, value]).flat(), 16, 0, 7)), many);
  assert.deepEqual(hex(many).map((pixel) => pixel.slice(-2)), ["10", "00", "07"]);
});

test("three planes are predicted by their neighbours, red and blue by green", () => {
  const drawn = target(2, 2);
  // Green is 20 30 / 10 25: the last is foretold by the gradient of its neighbours, 10 + 30 - 20, and is 5 more.
  const green = [20, 10, 246, 5];
  const red = [1, 0, 0, 0];
  const blue = [255, 0, 0, 0];
  drawExact(packed(rect([0, 0, 2, 2], PLANES, ...green, ...red, ...blue)), drawn);
  assert.deepEqual(hex(drawn), ["ff131415", "ff1d1e1f", "ff090a0b", "ff18191a"]);
});

test("several rects are drawn in their order", () => {
  const drawn = target(2, 1);
  assert.equal(drawExact(packed(rect([0, 0, 2, 1], SOLID, 1, 1, 1), rect([1, 0, 1, 1], SOLID, 2, 2, 2)), drawn).length, 2);
  assert.deepEqual(hex(drawn), ["ff010101", "ff020202"]);
});

test("what is cut off, outside the picture, of no kind or not in the palette is no rect", () => {
  const refused = (bytes, reason) => assert.throws(() => drawExact(bytes, target(4, 4)), (error) => error instanceof BadMessage && reason.test(error.message));
  refused(packed([0, 0, 0]), /cut off/);
  refused(packed(rect([0, 0, 2, 2], SOLID, 1, 1)), /cut off/);
  refused(packed(rect([0, 0, 2, 2], PLANES, ...new Array(11).fill(0))), /cut off/);
  refused(packed(rect([3, 0, 2, 1], SOLID, 1, 1, 1)), /not within/);
  refused(packed(rect([0, 0, 0, 1], SOLID, 1, 1, 1)), /not within/);
  refused(packed(rect([0, 0, 1, 1], 3, 1, 1, 1)), /no such kind/);
  refused(packed(rect([0, 0, 1, 1], PALETTE, 2, ...new Array(9).fill(0), 0b11000000)), /palette/);
});
