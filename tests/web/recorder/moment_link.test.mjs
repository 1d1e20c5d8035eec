// Links to a moment.

import assert from "node:assert/strict";
import { test } from "node:test";

import { linkTo, momentOf } from "/static/recorder/moment_link.js";

test("a link leads to its moment, in the same page and language", () => {
  const link = linkTo("http://box.test/recorder?lang=zh#t=1", 1_700_000_000.25);
  assert.equal(link, "http://box.test/recorder?lang=zh#t=2023-11-14T22:13:20.250Z");
  assert.equal(momentOf(new URL(link).hash), 1_700_000_000.25);
});

test("seconds since the epoch are read, too", () => {
  assert.deepEqual([momentOf("#t=1700000000"), momentOf("#t=1700000000.5"), momentOf("#x=1&t=5")], [1_700_000_000, 1_700_000_000.5, 5]);
});

test("what is no moment is none", () => {
  for (const hash of ["", "#", "#t=", "#t=soon", "#t=-5", "#t=1e99", "#t=99999999999999999", "#moment"]) assert.equal(momentOf(hash), null, hash);
});
