// The strings of /view.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { translate } = await import("/static/view/strings.js");

test("a string has its placeholders filled", () => {
  assert.equal(translate("dropped", { name: "Ann" }), "Your mouse and keyboard do nothing while Ann drives.");
});
