// States, times and drivers in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { age, driver, kindWord, length, person, urgency } from "../../../fleet/tandem_fleet/web/format.js";

test("a length of time is in its largest unit, and never below nothing", () => {
  assert.deepEqual([-5, 0, 59.9, 60, 3599, 3600, 86_400].map(length), ["0 s", "0 s", "59 s", "1 min", "59 min", "1 h", "1 d"]);
  assert.equal(age("2026-01-01T00:00:00Z", Date.parse("2026-01-01T02:30:00Z")), "2 h");
});

test("a request is urgent by the time that is left", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const ends = (/** @type {number} */ seconds) => /** @type {any} */ ({ ends_at: new Date(now + seconds * 1000).toISOString() });
  assert.deepEqual([-1, 119, 120, 899, 900].map((left) => urgency(ends(left), now)), [0, 0, 1, 1, 2]);
});

test("who drives is said of one that runs, and by the person's name", () => {
  const says = (/** @type {object | null} */ drives, state = "ready") => driver(/** @type {any} */ ({ state, driver: drives }));
  assert.deepEqual(says({ state: "agent", holder: "", private: false }), ["The agent drives", "agent"]);
  assert.deepEqual(says({ state: "human", holder: "token:mia#1f", private: false }), ["mia drives", "other"]);
  assert.deepEqual(says({ state: "human", holder: "", private: true }), ["Somebody drives in private", "private"]);
  assert.deepEqual(says({ state: "frozen", holder: "", private: false }), ["The agent is paused", "paused"]);
  assert.deepEqual([says(null), says({ state: "agent", holder: "", private: false }, "paused")], [["", ""], ["", ""]]);
});

test("what is no known kind is help, and a name is what people are called", () => {
  assert.deepEqual(["otp", "constructor", ""].map(kindWord), ["One-time code", "Help", "Help"]);
  assert.equal(person("owner#1f03ac"), "owner");
});
