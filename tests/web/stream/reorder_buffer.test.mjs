// Parts of frames come in order and once, whichever transport carries them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ReorderBuffer } from "/static/stream/reorder_buffer.js";

/** @param {number} frame @param {number} part @param {boolean} last */
const part = (frame, part, last) => ({ kind: "part", frame, last, operations: [], part });

test("frames are done in order and once, whichever way they come", () => {
  const order = new ReorderBuffer();
  const size = { kind: "size", width: 4, height: 4 };
  const take = (way, ...messages) => messages.flatMap((message) => order.take(way, message));
  assert.deepEqual(take(1, part(2, 0, true)), []);
  assert.deepEqual(take(0, part(1, 0, false), part(1, 1, true)), [part(1, 0, false), part(1, 1, true), part(2, 0, true)]);
  assert.deepEqual(take(1, size, part(3, 0, false)), [size, part(3, 0, false)]);
  assert.deepEqual(take(0, size, part(3, 0, false), part(3, 1, true)), [part(3, 1, true)]);
  order.forget(1);
  assert.deepEqual(take(1, part(4, 0, true), part(4, 0, true)), [part(4, 0, true)]);
  assert.throws(() => {
    for (let number = 6; number < 30_000; number++) take(0, part(number, 0, true));
  });
});
