// The strings of the terminal page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { openPage } from "../browser/page.mjs";

openDocument();
location.search = "?lang=zh-CN";
const { fill } = await import("/static/strings.js");
const { translate } = await import("/static/terminal/strings.js");

test("placeholders are filled, and one without a value is empty", () => {
  assert.equal(translate("running", { command: "make" }), "make（运行中）");
  assert.equal(translate("running"), "（运行中）");
});

test("the page's words are filled in", () => {
  const body = openPage("terminal");
  fill(body, translate);
  assert.equal(body.querySelector("#open").textContent, "新建会话");
  assert.equal(body.querySelector("#sessions").getAttribute("aria-label"), translate("session"));
  const unsaid = body.querySelectorAll("[data-says]").filter((element) => !element.textContent);
  assert.deepEqual(unsaid, []);
});
