// The strings of the checkpoints' panel.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { translate, translateCount } = await import("/static/checkpoints/strings.js");

test("a string has its placeholders filled, and one has its own form", () => {
  assert.equal(translate("ask", { name: "x" }), "Go back to “x”?");
  assert.deepEqual([translateCount("files", 1), translateCount("files", 2), translateCount("added", 1)], ["1 file", "2 files", "1 added"]);
});
