// Who drives, as words and as a colour.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { control, MINE, OTHER } from "./control.mjs";

openDocument();
const { driverHint, driverOf, driverText } = await import("/static/bar/driver.js");

/** @param {object} changes */
const text = (changes) => driverText(control(changes));
/** @param {object} changes @param {boolean} [shells] */
const colour = (changes, shells = true) => driverOf(control(changes), { shells });

test("it says who drives, and that no agent was ever there", () => {
  assert.deepEqual([text({}), text({ agent_seen: false })], ["The agent drives", "Waiting for an agent"]);
  assert.deepEqual([text(MINE), text(OTHER)], ["You drive", "bob · 5678 drives"]);
  assert.deepEqual([text({ state: "shared" }), text({ state: "frozen" })], ["Shared control", "Paused"]);
});

test("who has the terminals alone is told that the agent still has the screen", () => {
  const shells = { ...MINE, scope: ["shell"] };
  assert.deepEqual([text(shells), driverHint(control(shells))], ["You have the terminals", "The agent still has the screen."]);
  assert.equal(text({ ...OTHER, scope: ["shell"] }), "bob · 5678 has the terminals");
  assert.equal(driverHint(control(MINE)), "");
});

test("each driver has one colour", () => {
  assert.deepEqual([{}, { agent_seen: false }, MINE, OTHER, { state: "shared" }, { state: "frozen" }].map((changes) => colour(changes)), [
    "agent", "none", "you", "other", "shared", "paused",
  ]);
});

test("around the screen it is the colour of who has the screen", () => {
  assert.deepEqual([colour({ ...MINE, scope: ["shell"] }), colour({ ...MINE, scope: ["shell"] }, false)], ["you", "agent"]);
  assert.equal(colour(MINE, false), "you");
});
