// The strings of /recorder, in the browser's language; times by the locale, names in one form.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en-GB";
const english = await import("/static/recorder/strings.js");
const { CHINESE } = await import("/static/recorder/chinese.js");
const { ENGLISH } = await import("/static/recorder/english.js");

test("placeholders are filled", () => {
  assert.equal(english.translate("changed", { who: "ann", count: 3, list: "a, b, c" }), "ann changed 3 things: a, b, c");
});

test("every sentence has the same placeholders in both languages", () => {
  assert.ok(Object.keys(ENGLISH).length > 200);
  assert.deepEqual(Object.keys(CHINESE).sort(), Object.keys(ENGLISH).sort());
  const holes = (text) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();
  for (const key of Object.keys(ENGLISH)) assert.deepEqual(holes(CHINESE[key]), holes(ENGLISH[key]), key);
});

test("a number decides on the form of a word", () => {
  assert.deepEqual([english.translateCount("keys", 1), english.translateCount("keys", 2), english.translateCount("characters", 1)], ["1 key", "2 keys", "1 character"]);
});

test("a sentence in pieces marks what a program wrote", () => {
  assert.deepEqual(english.segments("ran", { who: "Agent", command: "ls {who} <b>" }, ["command"]), [{ text: "Agent" }, { text: " ran " }, { text: "ls {who} <b>", code: true }]);
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
