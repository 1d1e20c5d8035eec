// The entries of a folder.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { isHidden, nameText, ordered, sizeText, timeText, zone } = await import("/static/files/entries.js");

/** @param {string} name @param {object} [more] */
const entry = (name, more) => ({ name, path: `/${name}`, is_directory: false, size: 1, modified_time: "2026-01-02T03:04:05+00:00", ...more });
const ALL = [entry("b", { size: 5 }), entry("a10"), entry("a9", { size: 9, modified_time: "2027-01-01T00:00:00+00:00" }), entry("z", { is_directory: true })];
/** @param {any} order */
const names = (order) => ordered(ALL, order).map(({ name }) => name);

test("folders come first, in whatever order", () => {
  assert.deepEqual(names({ column: "name", descending: false }), ["z", "a9", "a10", "b"]);
  assert.deepEqual(names({ column: "name", descending: true }), ["z", "b", "a10", "a9"]);
  assert.deepEqual(names({ column: "size", descending: true }), ["z", "a9", "b", "a10"]);
  assert.deepEqual(names({ column: "modified", descending: true }), ["z", "a9", "a10", "b"]);
});

test("what turns the direction of a name, or ends its line, is shown as a character that cannot be read", () => {
  assert.equal(nameText("gpj\u202etxt.exe\n\u0007"), "gpj\u{fffd}txt.exe\u{fffd}\u{fffd}");
  assert.equal(nameText("x".repeat(255)).length, 255);
});

test("a size and a time read as people write them, and a broken one is left out", () => {
  assert.deepEqual([sizeText(entry("a", { size: 2048 })), sizeText(entry("a", { is_directory: true })), sizeText(entry("a", { size: null }))], ["2.0 KiB", "", ""]);
  assert.match(timeText(entry("a", { modified_time: "2026-01-02T18:04:05" })), /2026.*18:04$/);
  assert.deepEqual([timeText(entry("a", { modified_time: null })), timeText(entry("a", { modified_time: "never" }))], ["", ""]);
  assert.notEqual(zone(), "");
});

test("a dot hides a name", () => {
  assert.deepEqual([isHidden(entry(".a")), isHidden(entry("a."))], [true, false]);
});
