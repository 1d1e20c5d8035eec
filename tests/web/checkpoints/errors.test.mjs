// What went wrong, in words for a person.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { control, MINE, OTHER } from "../bar/control.mjs";

openDocument();
location.search = "?lang=en";
const { explain, hindrance, isFull, isOff } = await import("/static/checkpoints/errors.js");
const { ApiError } = await import("/static/api.js");
const error = (/** @type {number} */ status, message = "") => new ApiError(status, message);

test("a person who has control is named, and a pause is told", () => {
  assert.equal(explain(error(423), control(OTHER)), "bob · 5678 has control. Ask for control first, then go back. Nothing was changed.");
  assert.match(explain(error(423), control({ state: "frozen" })), /^The agent is paused/);
  assert.equal(explain(error(423)), "Somebody else has control. Nothing was changed.");
  assert.deepEqual([hindrance(control()), hindrance(control(MINE)), hindrance(undefined)], ["", "", ""]);
});

test("what the API refuses is told by its meaning", () => {
  assert.match(explain(error(409, "there is no box here: BOX=off")), /runs without a box/);
  assert.match(explain(error(409, "no box runs on checkpoint aaaaaaaa, and it is where it was again: x")), /Everything is as it was before/);
  assert.equal(explain(error(409, "odd\nthing")), "That does not go together with what is there now: odd\ufffdthing");
  assert.match(explain(error(429, "the chain has 64 layers: squash it first")), /too many checkpoints/);
  assert.match(explain(error(429, "checkpoints take 7 of 6 bytes")), /space for checkpoints is used up/);
  assert.match(explain(error(429, "4 pieces of work on checkpoints go on: try again")), /busy/);
  assert.equal(explain(error(429, "the disk has no room")), "There is no room for it now: the disk has no room");
  assert.deepEqual([404, 403, 401].map((status) => explain(error(status))), ["That checkpoint is gone.", "Your access does not include checkpoints.", "You are signed out. Sign in, or open a new link."]);
  assert.equal(explain(error(500, "x".repeat(999))).length < 350, true);
});

test("silence, a long wait and anything else are told apart", () => {
  assert.match(explain(new TypeError("failed to fetch")), /does not answer/);
  assert.match(explain(new DOMException("late", "TimeoutError")), /longer than expected/);
  assert.equal(explain(new Error("odd")), "That did not work: odd");
});

test("where room can be made, and where there are no checkpoints, is known", () => {
  assert.deepEqual([isFull(error(429, "checkpoints take 7")), isFull(error(429, "the disk")), isFull(error(409))], [true, false, false]);
  assert.deepEqual([isOff(error(409, "there is no box here")), isOff(error(409, "odd")), isOff(new Error("x"))], [true, false, false]);
});
