// Actions as buttons.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
const { showButtons } = await import("/static/bar/action_buttons.js");

const action = (id, look = {}) => ({ id, text: id.toUpperCase(), act: async () => {}, ...look });
/** @type {any} */
let place;
/** @type {string[]} */
let run = [];

beforeEach(() => {
  run = [];
  place = document.createElement("div");
  body.replaceChildren(place);
});

/** @param {...any} actions */
const show = (...actions) => showButtons(place, actions, ({ id }) => run.push(id));

test("each action is a button with its text and look", () => {
  show(action("take"), action("stop", { quiet: true, danger: true }));
  assert.deepEqual(place.children.map(({ textContent, className }) => [textContent, className]), [["TAKE", "button"], ["STOP", "button quiet danger"]]);
  place.firstElementChild.click();
  assert.deepEqual(run, ["take"]);
});

test("a button that stays keeps the focus, and is not made anew", () => {
  show(action("take"), action("stop"));
  const stop = place.lastElementChild;
  stop.focus();
  show(action("back"), action("stop"));
  assert.equal(place.lastElementChild, stop);
  assert.equal(document.activeElement, stop);
  show(action("thaw"));
  assert.equal(document.activeElement, place.firstElementChild, "the first takes it where its button is gone");
});
