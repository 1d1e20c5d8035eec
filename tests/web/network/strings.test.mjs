// The strings of the network.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { translate, translateCount } = await import("/static/network/strings.js");

test("a string has its placeholders filled, and one thing has a form of its own", () => {
  assert.equal(translate("until", { time: "10:20" }), "until 10:20");
  assert.deepEqual([translateCount("times", 1), translateCount("times", 3), translateCount("openNow", 1)], ["once", "3 times", "1 open"]);
});
