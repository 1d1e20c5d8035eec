// Times, sizes and names for display.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { size, span, visible, when } = await import("/static/checkpoints/format.js");

test("a text of somebody else's is one line in one direction, and bounded", () => {
  assert.equal(visible("a\nb\u202ecod.exe\u2028\u0000\u200bz"), "a\ufffdb\ufffdcod.exe\ufffd\ufffd\ufffdz");
  assert.equal(visible("x".repeat(500)).length, 120);
  assert.equal(visible("😀😀", 2), "\ufffd…", "half a character is none");
  assert.deepEqual([visible(undefined), visible(7), visible({})], ["", "", ""]);
});

test("a size has a unit and no more digits than it needs", () => {
  assert.deepEqual([0, 7, 1023, 1024, 3_000_000, 200 * 1024 ** 2, 5 * 1024 ** 4, 1e18].map(size), ["0 B", "7 B", "1023 B", "1.0 KiB", "2.9 MiB", "200 MiB", "5.0 TiB", "909495 TiB"]);
});

test("a moment has its day unless that is today, whatever a record says", () => {
  const now = Date.now() / 1000;
  assert.match(when(now), /^\d\d:\d\d:\d\d$/);
  assert.match(when(now - 200_000), /^\w+ \d+ \d\d:\d\d:\d\d$/);
  assert.match(when(1e300), /1970|Jan/);
});

test("a length of time has its largest unit", () => {
  assert.deepEqual([0, 1.2, 61, 7300, 200_000].map(span), ["1 second", "1 second", "1 minute", "2 hours", "2 days"]);
});
