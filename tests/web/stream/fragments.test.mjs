// Fragments are joined to messages.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Reassembler } from "/static/stream/fragments.js";

test("long messages are joined from their fragments", () => {
  const joiner = new Reassembler();
  assert.equal(joiner.take(Uint8Array.of(1, 10, 20).buffer), undefined);
  assert.deepEqual(new Uint8Array(joiner.take(Uint8Array.of(0, 30).buffer)), Uint8Array.of(10, 20, 30));
  assert.deepEqual(new Uint8Array(joiner.take(Uint8Array.of(0).buffer)), Uint8Array.of());
  assert.throws(() => joiner.take(Uint8Array.of(2).buffer));
});
