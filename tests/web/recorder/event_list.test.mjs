// The list of what happened.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { EventList } = await import("/static/recorder/event_list.js");
const { rowsOf } = await import("/static/recorder/rows.js");

const AGENT = { type: "agent", name: "key" };
const ANN = { type: "person", name: "ann" };
/** @param {number} n @param {object} [more] @returns {any} */
const entry = (n, more) => ({ n, at: n, kind: "command", actor: AGENT, operation: "shell.exec_command", outcome: "ok", request: { command: `c${n}` }, result: { exit_code: 0 }, ...more });
const WHOLE = { hasEarlier: false, hasLater: false };

/** @type {any} */
let place;
/** @type {any} */
let list;
/** @type {any[]} */
let done = [];

beforeEach(() => {
  done = [];
  place = document.createElement("ol");
  body.replaceChildren(place);
  const note = (/** @type {string} */ what) => (/** @type {any} */ value) => done.push(value === undefined || typeof value === "object" ? [what] : [what, value]);
  list = new EventList(place, { read: async () => entry(1), play: note("play"), link: note("link"), seek: note("seek"), earlier: note("earlier"), later: note("later"), mayGoBack: () => false, goBack: () => {} });
});

const items = () => place.querySelectorAll("li.row");
const buttons = () => items().map((item) => item.querySelector("button"));
const sentences = () => buttons().map((button) => button.querySelector(".what").textContent);

test("the latest is first, with who did it", () => {
  list.me = "ann";
  list.show(rowsOf([entry(1), entry(2, { actor: ANN, result: { exit_code: 1 } })]), WHOLE);
  assert.deepEqual(sentences(), ["You ran c2, exit 1", "Agent ran c1, exit 0"]);
  assert.deepEqual(items().map(({ dataset }) => dataset.driver), ["you", "agent"]);
  assert.deepEqual(buttons().map(({ className }) => className), ["failed", ""]);
  assert.equal(buttons()[1].querySelector(".who").textContent, "Commands · Agent · key");
});

test("rows stay the same elements while others come and go", () => {
  list.show(rowsOf([entry(1), entry(2)]), WHOLE);
  const [second, first] = items();
  buttons()[1].focus();
  list.show(rowsOf([entry(1), entry(2), entry(3)]), WHOLE);
  assert.deepEqual([items()[1] === second, items()[2] === first, document.activeElement === buttons()[2]], [true, true, true]);
  list.show(rowsOf([entry(2), entry(3)]), WHOLE);
  assert.deepEqual([sentences().length, items()[1] === second], [2, true]);
});

test("a row that grows is told anew, and stays open", () => {
  const input = (/** @type {number} */ n) => entry(n, { kind: "input", actor: ANN, operation: undefined, counts: { keys: 1 } });
  list.show(rowsOf([input(1)]), WHOLE);
  buttons()[0].click();
  list.show(rowsOf([input(1), input(2)]), WHOLE);
  assert.deepEqual(sentences(), ["ann used mouse and keyboard: 2 keys"]);
  assert.equal(items()[0].querySelectorAll(".detail").length, 1);
  assert.equal(items()[0].querySelectorAll(".burst").length, 1);
});

test("a click seeks the moment and opens the row, another closes it; one is open at a time", () => {
  list.show(rowsOf([entry(1), entry(2, { ms: 500 })]), WHOLE);
  const [second, first] = buttons();
  second.click();
  assert.deepEqual([done, second.getAttribute("aria-expanded")], [[["seek", 1.5]], "true"]);
  first.click();
  assert.deepEqual(items().map((item) => item.querySelectorAll(".detail").length), [0, 1]);
  assert.deepEqual([second.getAttribute("aria-expanded"), first.getAttribute("aria-expanded")], ["false", "true"]);
  first.click();
  assert.equal(place.querySelector(".detail"), null);
});

test("the arrow keys move the focus and the moment, and open nothing; Escape closes", () => {
  list.show(rowsOf([entry(1), entry(2)]), WHOLE);
  const [second, first] = buttons();
  const press = (/** @type {any} */ target, /** @type {string} */ key) => target.dispatchEvent(Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), { key }));
  press(second, "ArrowDown");
  assert.deepEqual([document.activeElement === first, done, place.querySelector(".detail")], [true, [["seek", 1]], null]);
  press(first, "ArrowUp");
  assert.equal(document.activeElement === second, true);
  second.click();
  press(second, "Escape");
  assert.equal(place.querySelector(".detail"), null);
});

test("the row of a moment is marked", () => {
  list.show(rowsOf([entry(10), entry(20), entry(30)]), WHOLE);
  const current = () => buttons().map((button) => button.getAttribute("aria-current"));
  /** @type {string[]} */
  const scrolled = [];
  for (const item of items()) item.scrollIntoView = () => scrolled.push(item.querySelector("button").dataset.n);
  assert.equal(list.point(25, true), true);
  assert.deepEqual([current(), scrolled], [[null, "true", null], ["20"]]);
  assert.equal(list.point(5, false), false);
  assert.deepEqual(current(), [null, null, null]);
  list.point(30, false);
  assert.deepEqual([current(), scrolled], [["true", null, null], ["20"]]);
});

test("earlier and later pages are offered where there are any, and an empty list says so", () => {
  list.show([], WHOLE);
  const [later, empty, earlier] = place.children;
  assert.deepEqual([later.hidden, empty.hidden, earlier.hidden], [true, false, true]);
  list.show(rowsOf([entry(1)]), { hasEarlier: true, hasLater: true });
  assert.deepEqual([later.hidden, empty.hidden, place.children.at(-1).hidden], [false, true, false]);
  place.children[0].querySelector("button").click();
  place.children.at(-1).querySelector("button").click();
  assert.deepEqual(done, [["later"], ["earlier"]]);
});

test("what the agent wrote is text", () => {
  list.show(rowsOf([entry(1, { request: { command: "<img src=x onerror=alert(1)>" } })]), WHOLE);
  assert.equal(place.querySelector("img"), null);
  assert.equal(place.querySelector("code").textContent, "<img src=x onerror=alert(1)>");
});
