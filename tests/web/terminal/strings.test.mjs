// The strings of the terminal page, in the browser's language.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { openPage } from "../browser/page.mjs";

openDocument();
location.search = "?lang=zh-CN";
const chinese = await import("/static/terminal/strings.js?zh");
location.search = "?lang=fr";
const english = await import("/static/terminal/strings.js?en");

test("the address chooses the language, and what there is no translation for is English", () => {
  assert.deepEqual([chinese.language, english.language], ["zh", "en"]);
  assert.deepEqual([chinese.translate("open"), english.translate("open")], ["新建会话", "New session"]);
});

test("placeholders are filled, and one without a value is empty", () => {
  assert.equal(english.translate("running", { command: "make" }), "make (running)");
  assert.equal(chinese.translate("running"), "（运行中）");
});

test("the page's words are filled in, each in both languages", () => {
  for (const { fill, translate } of [chinese, english]) {
    const body = openPage("terminal");
    fill(body);
    assert.equal(body.querySelector("#open").textContent, translate("open"));
    assert.equal(body.querySelector("#sessions").getAttribute("aria-label"), translate("session"));
    const unsaid = body.querySelectorAll("[data-says]").filter((element) => !element.textContent);
    assert.deepEqual(unsaid, []);
  }
});
