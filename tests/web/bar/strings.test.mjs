// The bar's strings.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { translate } = await import("/static/bar/strings.js");

test("a string has its placeholders filled", () => {
  assert.equal(translate("idle", { seconds: 7 }), "You have been still. The agent has control again in 7 s.");
});
