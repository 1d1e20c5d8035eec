// Who drove when, and when it was private.

import assert from "node:assert/strict";
import { test } from "node:test";

import { controlSpans, privateSpans, spanAt } from "/static/recorder/control_spans.js";

/** @param {number} at @param {string} event @param {object} [more] @returns {any} */
const change = (at, event, more = {}) => ({ n: at, at, kind: "control", actor: { type: "person", name: "ann" }, event, ...more });

test("who drove is told from one change to the next, and the last until now", () => {
  const entries = [
    change(1, "state", { state: "agent", holder: null }),
    change(3, "taken", { state: "human", holder: "ann" }),
    change(4, "came", { state: "human", holder: "ann" }),
    { ...change(5, "x"), kind: "command" },
    change(7, "frozen", { state: "frozen", holder: null }),
    change(8, "odd"),
  ];
  assert.deepEqual(controlSpans(entries, 10), [
    { from: 1, until: 3, state: "agent", holder: null },
    { from: 3, until: 7, state: "human", holder: "ann" },
    { from: 7, until: 10, state: "frozen", holder: null },
  ]);
});

test("private time is from the change that began it to the one that ended it", () => {
  const entries = [change(1, "taken", { private: null }), change(2, "private:button", { private: "ann" }), change(3, "came", { private: "ann" }), change(6, "public", { private: null })];
  assert.deepEqual(privateSpans(entries, 10), [{ from: 2, until: 6, who: "ann" }]);
});

test("private time that goes on ends now, and one that another person goes on with is another", () => {
  const entries = [change(2, "private:button", { private: "ann" }), change(4, "taken", { private: "bob" })];
  assert.deepEqual(privateSpans(entries, 10), [{ from: 2, until: 4, who: "ann" }, { from: 4, until: 10, who: "bob" }]);
});

test("a record that does not say who is private is read by its events", () => {
  const entries = [change(2, "private:focus"), change(3, "came"), change(5, "returned:idle"), change(6, "private:button"), change(8, "released")];
  assert.deepEqual(privateSpans(entries, 10), [{ from: 2, until: 5, who: "ann" }, { from: 6, until: 8, who: "ann" }]);
});

test("a moment is in a span from its beginning until before its end", () => {
  const spans = [{ from: 2, until: 4, who: "ann" }];
  assert.deepEqual([1.9, 2, 3.9, 4].map((at) => Boolean(spanAt(spans, at))), [false, true, true, false]);
});
