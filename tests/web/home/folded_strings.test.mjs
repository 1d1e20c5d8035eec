// How long something still holds, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { left } = await import("/static/home/folded_strings.js");

test("what is left is told in the largest unit that fits", () => {
  const now = Date.now() / 1000;
  assert.deepEqual([10, 3600, 8 * 3600, 47 * 3600, 7 * 86400].map((seconds) => left(now + seconds)), [
    "expires in 1 min", "expires in 60 min", "expires in 8 h", "expires in 47 h", "expires in 7 d",
  ]);
  assert.equal(left(now - 100), "expires in 1 min");
});
