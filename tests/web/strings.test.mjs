// The language of the pages, and the strings that are filled into them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "./browser/dom.mjs";

const body = openDocument();
const kept = new Map();
/** @type {string[]} */
let led = [];
globals({ localStorage: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) }, navigator: { language: "de" } });

/** @param {string} address @param {string} name so that the module is loaded anew */
async function at(address, name) {
  const location = Object.assign(new URL(address), { reload: () => led.push("reload"), replace: (to) => led.push(String(to)) });
  globals({ location });
  return import(`/static/strings.js?${name}`);
}

test("the address chooses the language, else the choice of before, else the browser; what is not translated is English", async () => {
  assert.equal((await at("http://box.test/", "browser")).language, "en");
  globals({ navigator: { language: "zh-TW" } });
  assert.equal((await at("http://box.test/", "chinese")).language, "zh");
  kept.set("language", "en");
  assert.equal((await at("http://box.test/", "chosen")).language, "en");
  assert.equal((await at("http://box.test/?lang=zh", "address")).language, "zh");
});

test("a choice holds for all pages, and shows this one anew without the language in its address", async () => {
  const strings = await at("http://box.test/view?lang=en&x=1", "choosing");
  strings.chooseLanguage("zh");
  assert.deepEqual([kept.get("language"), led], ["zh", ["http://box.test/view?x=1"]]);
  led = [];
  (await at("http://box.test/view", "choosing2")).chooseLanguage("en");
  assert.deepEqual(led, ["reload"]);
});

test("a browser that keeps nothing is asked for its language", async () => {
  globals({ localStorage: { getItem: () => { throw new Error("no storage"); } } });
  assert.equal((await at("http://box.test/", "none")).language, "zh");
});

test("placeholders are filled, and one without a value is empty", async () => {
  const { translator } = await at("http://box.test/?lang=en", "filled");
  const translate = translator({ hello: "Hello {name}" }, { hello: "你好 {name}" });
  assert.deepEqual([translate("hello", { name: "Ann" }), translate("hello")], ["Hello Ann", "Hello "]);
  const chinese = (await at("http://box.test/?lang=zh", "filled-zh")).translator({ hello: "Hello {name}" }, { hello: "你好 {name}" });
  assert.equal(chinese("hello", { name: "Ann" }), "你好 Ann");
});

test("elements get their text and attributes by key, and the bar fills its own", async () => {
  const { fill } = await at("http://box.test/?lang=zh", "fill");
  body.innerHTML = '<p data-says="a"></p><input data-says-placeholder="b" data-says-aria-label="c" data-says-title="d">';
  const bar = Object.assign(document.createElement("tandem-bar"), {});
  bar.innerHTML = '<i data-says="e"></i>';
  body.append(bar);
  fill(body, (key) => key.toUpperCase());
  const input = body.querySelector("input");
  assert.equal(body.querySelector("p").textContent, "A");
  assert.deepEqual(["placeholder", "aria-label", "title"].map((name) => input.getAttribute(name)), ["B", "C", "D"]);
  assert.equal(bar.textContent, "");
  fill(bar, (key) => key.toUpperCase());
  assert.equal(bar.textContent, "E");
  assert.equal(document.documentElement.lang, "zh");
});

test("two sessions of one person are told apart", async () => {
  const { person } = await at("http://box.test/", "person");
  assert.deepEqual([person("owner#0123456789"), person("key")], ["owner · 0123", "key"]);
});

test("a guest is called by the name that they said", async () => {
  const { person } = await at("http://box.test/?lang=en", "guest");
  assert.deepEqual([person("guest:Mia%20Sol#4bca12"), person("guest:%E5%BC%A0%E4%BC%9F"), person("guest#4bca12"), person("guest:%zz#1"), person("guestbook")], [
    "Mia Sol (guest)", "张伟 (guest)", "Guest · 4bca", "%zz (guest)", "guestbook",
  ]);
  assert.equal((await at("http://box.test/?lang=zh", "guest-zh")).person("guest:Mia#4bca12"), "Mia（访客）");
});
