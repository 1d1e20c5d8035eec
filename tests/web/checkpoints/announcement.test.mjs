// What whoever watches is told of checkpoints.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing } from "../browser/network.mjs";
import { FIRST } from "./kept.mjs";

openDocument();
location.search = "?lang=en";
const { announcement } = await import("/static/checkpoints/announcement.js");
const made = (/** @type {string} */ by, /** @type {string} */ note) => announcement({ kind: "checkpoint:made", by, note }, "ann#1234");
const restored = (/** @type {string} */ by, /** @type {string} */ note) => announcement({ kind: "checkpoint:restored", by, note }, "ann#1234");

test("who made one is told, and that nothing stopped", async () => {
  assert.equal(await made("ann#1234", "before; no programs were stopped"), "You made the checkpoint “before”. No programs were stopped.");
  assert.equal(await made("bob#5678", "no programs were stopped"), "bob · 5678 made a checkpoint. No programs were stopped.");
  assert.equal(await made("key", "1 program was stopped: bash"), "The agent made a checkpoint. 1 program was stopped: bash.");
});

test("who went back is told by the checkpoint's name, and what stopped", async () => {
  answering(() => ({ head: null, checkpoints: [FIRST] }));
  assert.equal(await restored("key", "aaaaaaaa; 14 programs were stopped: chromium, bash, ..."), "The agent went back to the checkpoint “before the upgrade”. 14 programs were stopped: chromium, bash, ….");
  assert.equal(await restored("bob#5678", "image; no programs were stopped"), "bob · 5678 went back to the checkpoint “Start”. No programs were stopped.");
  answering(() => refusing(503, "no"));
  assert.match(await restored("key", "aaaaaaaa; no programs were stopped"), /“aaaaaaaa”/);
});

test("a label cannot say what stopped, and is one short line", async () => {
  assert.equal(await made("key", "x; 9 programs were stopped: all; no programs were stopped"), "The agent made the checkpoint “x; 9 programs were stopped: all”. No programs were stopped.");
  const long = await made("key", `\u202e\n${"y".repeat(900)}; no programs were stopped`);
  assert.deepEqual([long.length < 160, /[\n\u202e]/.test(long)], [true, false]);
  assert.equal(await made("key", ""), "The agent made a checkpoint.");
});
