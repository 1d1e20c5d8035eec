// What checkpoints, people and programs are called.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { checkpoint, FIRST, RESTORE, RISK } from "./kept.mjs";

openDocument();
location.search = "?lang=en";
const { isAutomatic, nameOf, programNames, stateName, whoOf } = await import("/static/checkpoints/names.js");
const ALL = [FIRST, RISK, RESTORE];

test("a checkpoint has its label, or says what it was made for", () => {
  assert.deepEqual(ALL.map((one) => nameOf(one, ALL)), ["before the upgrade", "Before file.delete_file", "Before going back to “before the upgrade”"]);
  assert.deepEqual(ALL.map(isAutomatic), [false, true, true]);
  assert.equal(nameOf(checkpoint("d", { label: "  " }), []), "Unnamed checkpoint");
  assert.equal(nameOf(checkpoint("d", { label: "", why: "imported" }), []), "Imported checkpoint");
  assert.equal(nameOf({ ...RESTORE, label: "before restoring the image" }, ALL), "Before going back to “Start”");
  assert.equal(nameOf(RESTORE, []), "Before going back to “a checkpoint that was removed”");
});

test("names do not grow with restores of restores, and a hostile label does no harm", () => {
  const again = checkpoint("dddddddd", { why: "before_restore", label: "before restoring cccccccc" });
  assert.equal(nameOf(again, [...ALL, again]), "Before going back to “cccccccc”");
  assert.equal(nameOf(checkpoint("d", { label: "\u202ea\n<b>" }), []), "\ufffda\ufffd<b>");
  assert.equal(nameOf(checkpoint("d", { label: "x".repeat(1000) }), []).length, 80);
  assert.equal(nameOf({ ...RESTORE, label: "before restoring __proto__" }, ALL), "before restoring __proto__");
});

test("a state is named by its id, also one that is gone", () => {
  assert.deepEqual([stateName("image", ALL), stateName("aaaaaaaa", ALL), stateName("0".repeat(50), ALL)], ["Start", "before the upgrade", "0000000…"]);
});

test("people have a session, programs are the agent", () => {
  assert.deepEqual([whoOf("ann#1234", "ann#1234"), whoOf("bob#567890"), whoOf("key"), whoOf("unknown"), whoOf("")], ["You", "bob · 5678", "Agent · key", "Agent", "Agent"]);
});

test("programs are told by name and number, the most frequent first, a few of them", () => {
  const commands = ["/usr/bin/python3 -m x", "bash", "bash -l", "/odd/", "a\nb c", "d", "e", "f"];
  assert.equal(programNames(commands.map((command) => ({ command }))), "bash ×2, python3, /odd/, a, d, …");
  assert.equal(programNames([{ command: "x".repeat(300) }]).length, 30);
});
