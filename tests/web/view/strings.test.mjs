// The strings of /view, in the browser's language.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=zh-CN";
const chinese = await import("/static/view/strings.js?zh");
location.search = "?lang=fr";
const english = await import("/static/view/strings.js?en");

test("the address chooses the language, and what there is no translation for is English", () => {
  assert.deepEqual([chinese.language, english.language], ["zh", "en"]);
  assert.deepEqual([chinese.translate("take"), english.translate("take")], ["接管", "Take control"]);
});

test("placeholders are filled, and one without a value is empty", () => {
  assert.equal(english.translate("idle", { seconds: 7 }), "You have been still. The agent has control again in 7 s.");
  assert.equal(english.translate("other"), " drives");
  assert.equal(chinese.translate("claimed", { name: "Ann" }), "Ann 正在处理");
});

test("what the browser lacks can be said in both languages", () => {
  for (const key of ["insecure", "codec"]) assert.notEqual(chinese.translate(key), english.translate(key));
});

test("two sessions of one person are told apart", () => {
  assert.equal(english.person("owner#0123456789"), "owner · 0123");
  assert.equal(english.person("key"), "key");
});
