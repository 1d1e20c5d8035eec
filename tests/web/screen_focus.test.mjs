// The keyboard's way to the screen: Tab stops there, Enter goes in.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "./browser/dom.mjs";

const body = openDocument();
const { addFocusByEnter, focusByEnter, focusHint } = await import("/static/screen_focus.js");

/** @type {any} */
let screen;
let entered = 0;

beforeEach(() => {
  entered = 0;
  screen = document.createElement("div");
  body.replaceChildren(screen);
});

/** @param {object} more @param {any} [at] */
function press(more, at = screen) {
  const event = Object.assign(new Event("keydown", { bubbles: true, cancelable: true }), more);
  at.dispatchEvent(event);
  return event.defaultPrevented;
}

test("Enter on the screen itself goes in, and no other key does", () => {
  focusByEnter(screen, () => ++entered > 0);
  assert.deepEqual([screen.tabIndex, screen.getAttribute("role")], [0, "application"]);
  assert.deepEqual([press({ key: "Tab" }), press({ key: "a" }), press({ key: "Enter", ctrlKey: true, altKey: true }), entered], [false, false, false, 0]);
  assert.deepEqual([press({ key: "Enter" }), entered], [true, 1]);
});

test("Enter in what takes the keys is that one's", () => {
  const field = document.createElement("textarea");
  screen.append(field);
  focusByEnter(screen, () => ++entered > 0);
  press({ key: "Enter" }, field);
  assert.equal(entered, 0);
});

test("where nothing takes the keys, Enter is left to the browser", () => {
  focusByEnter(screen, () => false);
  assert.equal(press({ key: "Enter" }), false);
});

test("a screen on the page gets its name and its hint", () => {
  addFocusByEnter(screen, { label: "The screen", hint: "Press Enter" }, () => entered++);
  press({ key: "Enter" });
  assert.deepEqual([entered, screen.getAttribute("aria-label"), body.querySelector(".focus-hint")?.textContent], [1, "The screen", "Press Enter"]);
  assert.equal(focusHint("a").textContent, "a");
});
