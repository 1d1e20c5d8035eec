// Private mode: who sees the screen, who sees a cover, and who is told why.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { control } from "../bar/control.mjs";

const body = openDocument();
const { PrivateMode } = await import("/static/view/private_mode.js");

const MINE = { state: "human", holder: "ann#1234", private: "ann#1234", you: { driving: true } };

/** @type {any} */
let shown;
/** @type {any} */
let mode;
/** @type {string[]} */
let told = [];

beforeEach(() => {
  body.replaceChildren();
  told = [];
  shown = parts(body, { banner: "p", cover: "p" });
  mode = new PrivateMode(shown, (text) => told.push(text));
});

test("the person in private mode is told that only they see the screen", () => {
  mode.show(control(MINE), "private");
  assert.equal(document.body.dataset.private, "mine");
  assert.deepEqual([shown.banner.hidden, shown.cover.hidden, shown.banner.textContent], [false, true, "Private: only you see the screen. The agent, recordings and other viewers do not."]);
});

test("everybody else sees a cover with the person's name", () => {
  mode.show(control({ ...MINE, holder: "bob#5678", private: "bob#5678", you: { sees: false } }), "private");
  assert.equal(document.body.dataset.private, "hidden");
  assert.deepEqual([shown.banner.hidden, shown.cover.textContent], [true, "Private: bob · 5678 has hidden the screen for a moment."]);
});

test("nothing is covered when nobody is private", () => {
  mode.show(control(), "state");
  assert.deepEqual([document.body.dataset.private, shown.banner.hidden, shown.cover.hidden, shown.cover.textContent], ["", true, true, ""]);
});

test("who was not private is not told that everybody sees the screen again", () => {
  mode.show(control({ ...MINE, private: null }), "taken");
  assert.deepEqual(told, []);
});

test("a mode that began by itself is explained, and its end is told to whoever still drives", () => {
  mode.show(control(MINE), "private:focus");
  mode.show(control({ ...MINE, private: null }), "public");
  mode.show(control(MINE), "private:handoff");
  mode.show(control({ private: null }), "released");
  assert.deepEqual(told, [
    "Private mode is on: you're in a password field.",
    "Private mode is off.",
    "Private mode is on: what you do for this request stays yours.",
  ]);
});
