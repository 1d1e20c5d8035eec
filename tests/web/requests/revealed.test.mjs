// Text that somebody approves.

import assert from "node:assert/strict";
import { test } from "node:test";

const { revealed } = await import("/static/requests/revealed.js");

test("what is invisible or turns the direction of writing is shown by its number, lines stay lines", () => {
  assert.equal(revealed("a\u202eb\u200bc\u3164d\ne\u0000", 100), "a⟨U+202E⟩b⟨U+200B⟩c⟨U+3164⟩d\ne⟨U+0000⟩");
});

test("a text has an end, and marks do not stack without one", () => {
  assert.deepEqual([revealed("x".repeat(50), 10), [...revealed(`a${"\u0301".repeat(50)}`, 100)].length], [`${"x".repeat(10)}…`, 5]);
});
