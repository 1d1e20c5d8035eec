// The strings of /stream/.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { translate } = await import("/static/stream/strings.js");

test("what the browser lacks has a sentence that says what to do", () => {
  assert.match(translate("insecure"), /https, or at localhost\.$/);
  assert.match(translate("codec"), /libavcodec/);
});
