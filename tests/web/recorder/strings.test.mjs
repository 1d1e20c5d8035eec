// The strings of /recorder, in the browser's language.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=zh";
const chinese = await import("/static/recorder/strings.js?zh");
location.search = "?lang=en-GB";
const english = await import("/static/recorder/strings.js?en");

test("the address chooses the language", () => {
  assert.deepEqual([chinese.language, chinese.translate("live"), english.translate("live")], ["zh", "实时", "Live"]);
});

test("placeholders are filled in both languages", () => {
  assert.equal(english.translate("changed", { person: "ann", count: 3 }), "ann changed 3 things");
  assert.equal(chinese.translate("changed", { person: "ann", count: 3 }), "ann 改动了 3 处");
});

test("a time of day has seconds", () => {
  assert.match(english.moment(1_700_000_000), /^\d{2}:\d{2}:20/);
});
