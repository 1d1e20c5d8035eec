// What a viewer may do about who drives.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { control, fakeLease, MINE, OTHER } from "./control.mjs";

openDocument();
const { controlActions } = await import("/static/bar/control_actions.js");

/** @param {object} changes @param {boolean} [screen] @returns {string[]} the actions' texts */
const texts = (changes, screen = true) => controlActions(control(changes), fakeLease(), { screen, handBack: async () => {} }).map(({ text }) => text);

test("the actions are those that the state of the lease allows", () => {
  assert.deepEqual(texts({}), ["Take control", "Private", "Pause agent"]);
  assert.deepEqual(texts({ take: "ask" }), ["Ask for control", "Pause agent"]);
  assert.deepEqual(texts(MINE), ["Hand back to agent", "Private", "Drive together", "Pause agent"]);
  assert.deepEqual(texts({ ...MINE, private: "ann#1234" }), ["Hand back to agent", "End private", "Drive together", "Pause agent"]);
  assert.deepEqual(texts(OTHER), ["Ask for control", "Pause agent"]);
  assert.deepEqual(texts({ ...OTHER, you: { role: "admin" } }), ["Ask for control", "Take over", "Pause agent"]);
  assert.deepEqual(texts({ ...OTHER, requests: [{ subject: "ann#1234", person: true, ends_in: 9 }] }), ["Cancel", "Pause agent"]);
  assert.deepEqual(texts({ state: "shared" }), ["Stop driving together", "Pause agent"]);
  assert.deepEqual(texts({ state: "frozen" }), ["Resume agent", "Take control"]);
});

test("who has the terminals alone can take the screen, too", () => {
  assert.deepEqual(texts({ ...MINE, scope: ["shell"] }, false), ["Hand back to agent", "Take control", "Pause agent"]);
});

test("what is about the screen alone is on the pages that show it, and private mode can be ended anywhere", () => {
  assert.deepEqual(texts({}, false), ["Take control", "Pause agent"]);
  assert.deepEqual(texts(MINE, false), ["Hand back to agent", "Pause agent"]);
  assert.deepEqual(texts({ ...MINE, private: "ann#1234" }, false), ["Hand back to agent", "End private", "Pause agent"]);
});

test("who may only watch, and a program, get none", () => {
  assert.deepEqual(texts({ you: { role: "view" } }), []);
  assert.deepEqual(texts({ you: { person: false } }), []);
});

test("an action does what it says", async () => {
  const lease = fakeLease();
  const handBack = async () => void lease.done.push("hand back");
  for (const { act } of controlActions(control(MINE), lease, { screen: true, handBack })) await act();
  assert.deepEqual(lease.done, ["hand back", "private", ["give", "shared"], "freeze"]);
});
