// The strings of /recorder, in the browser's language; times by the locale, names in one form.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
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
  assert.equal(english.translate("changed", { who: "ann", count: 3, list: "a, b, c" }), "ann changed 3 things: a, b, c");
  assert.equal(chinese.translate("changed", { who: "ann", count: 3, list: "a" }), "ann改动了 3 处：a");
});

test("every sentence has the same placeholders in both languages", async () => {
  const source = await readFile(new URL("../../../sandbox_server/web/recorder/english.js", import.meta.url), "utf8");
  const keys = [...source.matchAll(/^ {2}(\w+): "/gm)].map(([, key]) => key);
  assert.ok(keys.length > 200);
  const holes = (strings, key) => [...strings.translate(key, new Proxy({}, { get: (_, name) => `{${String(name)}}` })).matchAll(/\{\w+\}/g)].map(([name]) => name).sort();
  for (const key of keys) assert.deepEqual(holes(chinese, key), holes(english, key), key);
});

test("a number decides on the form of a word", () => {
  assert.deepEqual([english.translateCount("keys", 1), english.translateCount("keys", 2), english.translateCount("characters", 1)], ["1 key", "2 keys", "1 character"]);
});

test("a sentence in pieces marks what a program wrote", () => {
  assert.deepEqual(english.segments("ran", { who: "Agent", command: "ls {who} <b>" }, ["command"]), [{ text: "Agent" }, { text: " ran " }, { text: "ls {who} <b>", code: true }]);
});

test("a person has one form of name, with a piece of the session", () => {
  assert.deepEqual([english.personName("owner#4fdfc3"), english.personName("owner")], ["owner · 4fdf", "owner"]);
});

test("a time of day has 24 hours and seconds, and the day unless it is today", (t) => {
  t.mock.method(Date, "now", () => 0);
  assert.match(english.moment(1_700_000_000), /\b(22|\d{2}):\d{2}:20$/);
  assert.doesNotMatch(english.moment(1_700_000_000), /[AP]M/i);
  assert.match(english.moment(1_700_000_000), /1[45]/);
  assert.doesNotThrow(() => [english.moment(1e30), english.moment(-1e30)]);
});

test("the zone is told with its offset", () => {
  assert.match(english.zone(), /UTC|GMT|\w+\/\w+/);
});

test("a duration has the unit that fits", () => {
  assert.deepEqual([english.duration(12.4), english.duration(1234), english.duration(300_000)], ["12 ms", "1.23 s", "5 min"]);
});
