// The rows of the list.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
await import("/static/recorder/connections.js");
const { actorOf, beginning, isActing, isNobodys, isViewer, rowsOf } = await import("/static/recorder/rows.js");

const ANN = { type: "person", name: "ann" };
let last = 0;
/** @param {number} at @param {string} kind @param {object} [more] @returns {any} */
const entry = (at, kind, more = {}) => ({ n: ++last, at, kind, actor: ANN, ...more });
const sizes = (/** @type {any[]} */ entries) => rowsOf(entries).map((row) => row.entries.length);

test("input of one person without a pause is one row", () => {
  const [row, ...others] = rowsOf([entry(100, "input", { counts: { keys: 3 } }), entry(102, "input", { counts: { keys: 4 } }), entry(111, "input", { counts: { clicks: 1 } })]);
  assert.deepEqual([row.entries.length, row.from, row.at, others.length], [3, 100, 111, 0]);
});

test("a pause, another actor, another kind and a failure end a burst", () => {
  const input = (/** @type {number} */ at, /** @type {object} */ more = {}) => entry(at, "input", { counts: { keys: 1 }, ...more });
  assert.deepEqual(sizes([input(1), input(12)]), [1, 1]);
  assert.deepEqual(sizes([input(1), input(2, { actor: { type: "person", name: "bob" } })]), [1, 1]);
  assert.deepEqual(sizes([input(1), entry(2, "control", { event: "taken" }), input(3)]), [1, 1, 1]);
  assert.deepEqual(sizes([input(1), entry(2, "input", { operation: "browser-page.click", outcome: "ok" }), input(3)]), [3]);
  assert.deepEqual(sizes([input(1), entry(2, "input", { operation: "browser-page.navigate", outcome: "ok" }), input(3)]), [1, 1, 1], "a page that is opened is no input");
  assert.deepEqual(sizes([input(1), entry(2, "input", { operation: "browser-page.click", outcome: "held_by_human" }), input(3)]), [1, 1, 1]);
});

test("a burst is bounded", () => {
  const many = Array.from({ length: 450 }, (_, at) => entry(at, "input", { counts: { keys: 1 } }));
  assert.deepEqual(sizes(many), [200, 200, 50]);
});

test("the answer to a request is known to the row of the request, and is a row itself", () => {
  const rows = rowsOf([entry(1, "handoff", { event: "open", id: "h-1" }), entry(2, "handoff", { event: "open", id: "h-2" }), entry(3, "handoff", { event: "closed", id: "h-1" })]);
  assert.deepEqual(rows.map(({ ended }) => ended?.at), [3, undefined, undefined]);
});

test("the end of a streamed command is folded into its beginning, unless that is not there", () => {
  const begun = entry(1, "command", { operation: "bash.exec", request_id: "r-1" });
  const ended = entry(9, "command", { operation: "bash.exec", request_id: "r-1", event: "ended" });
  const [row, ...others] = rowsOf([begun, ended]);
  assert.deepEqual([row.ended, others.length, rowsOf([ended]).length], [ended, 0, 1]);
});

test("a page that was reloaded is nobody who came or left", () => {
  const rows = rowsOf([entry(1, "control", { event: "came" }), entry(50, "control", { event: "left" }), entry(52, "control", { event: "came" }), entry(60, "control", { event: "left" }), entry(200, "control", { event: "came" })]);
  assert.deepEqual(rows.map(({ at }) => at), [1, 60, 200]);
});

test("the state at the start and the warning before control returns are nobody's act, and no rows", () => {
  const nobodys = [entry(1, "control", { event: "state" }), entry(1, "control", { event: "countdown" })];
  assert.deepEqual([sizes(nobodys), nobodys.map(isNobodys), isNobodys(entry(1, "navigation", { event: "state" }))], [[], [true, true], false]);
});

test("who takes on a request only to answer it has one row", () => {
  const asked = entry(1, "handoff", { event: "open", id: "h" });
  const [claimed, closed] = [entry(5, "handoff", { event: "claimed", id: "h" }), entry(5.1, "handoff", { event: "closed", id: "h" })];
  assert.deepEqual([sizes([asked, claimed, closed]).length, sizes([asked, claimed]).length, sizes([asked, claimed, { ...closed, at: 60 }]).length], [2, 2, 3]);
});

test("a receipt is of who changed something", () => {
  const receipt = entry(1, "receipt", { actor: { type: "system", name: "recorder" }, receipt: { person: "ann" } });
  assert.deepEqual([actorOf(receipt), actorOf(entry(1, "command"))], [ANN, ANN]);
});

test("an event began before its end, but what reads or was merely open has no length", () => {
  assert.equal(beginning(entry(10, "command", { ms: 4000 })), 6);
  assert.equal(beginning(entry(10, "call", { operation: "shell.terminal", ms: 4000, socket: true })), 10);
  assert.equal(beginning(entry(10, "command", { operation: "shell.terminal", ms: 4000 })), 10, "as older records have it");
  assert.equal(beginning(entry(10, "read", { ms: 4000 })), 10);
  assert.equal(beginning(entry(10, "command", { ms: "x" })), 10);
});

test("who watches or reads does not act", () => {
  const acting = [entry(1, "command"), entry(1, "control", { event: "taken" })];
  const idle = [entry(1, "read"), entry(1, "call"), entry(1, "log"), entry(1, "control", { event: "came" }), entry(1, "control", { event: "state" })];
  assert.deepEqual([acting.map(isActing), idle.map(isActing)], [[true, true], idle.map(() => false)]);
  assert.equal(isViewer(entry(1, "control", { event: "left" })), true);
});

test("what tells the viewers of a checkpoint is folded into it, unless it is not there", () => {
  const made = entry(10, "checkpoint", { operation: "checkpoints.create_checkpoint", outcome: "ok" });
  const told = (/** @type {number} */ at) => entry(at, "control", { event: "checkpoint:made" });
  assert.deepEqual(sizes([made, told(10.2)]), [1]);
  assert.deepEqual(sizes([made, told(60)]), [1, 1]);
  assert.deepEqual(sizes([told(10)]), [1]);
});

test("a program's connections without a pause are one row, and so is what is refused again and again", () => {
  const egress = (/** @type {number} */ at, /** @type {object} */ more = {}) => entry(at, "egress", { event: "connections", action: "allow", host: `h${at}`, port: 443, process: "pip", ...more });
  assert.deepEqual(sizes([egress(1), egress(2), egress(3, { process: "curl" }), egress(4, { action: "deny" }), egress(5, { action: "deny" }), egress(30)]), [2, 1, 1, 1, 1]);
  assert.deepEqual(sizes([egress(1, { action: "deny", host: "h" }), egress(4, { action: "deny", host: "h" })]), [2]);
  assert.equal(isActing(egress(1)), false, "a connection is what an act caused");
});
