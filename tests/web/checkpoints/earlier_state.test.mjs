// The state before an entry of the recorder.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";
import { checkpoint, FIRST, RESTORE, RISK } from "./kept.mjs";

openDocument();
location.search = "?lang=en";
const { earlierState, lostActs, stateBefore } = await import("/static/checkpoints/earlier_state.js");
const ALL = [FIRST, RISK, RESTORE];
const act = (/** @type {number} */ at, more = {}) => ({ at, kind: "command", operation: "bash.exec", outcome: "ok", ...more });
const restore = (/** @type {number} */ at, /** @type {string} */ id, outcome = "ok") => act(at, { kind: "checkpoint", operation: "checkpoints.restore_checkpoint", outcome, request: { checkpoint_id: id } });
const before = (/** @type {number} */ from, /** @type {any[]} */ restores = [], entry = act(from + 1)) => stateBefore({ from, entry }, ALL, restores).id;

test("it is the last checkpoint from before, or the image", () => {
  assert.deepEqual([before(999), before(1500), before(2500), before(9000)], ["image", FIRST.id, RISK.id, RESTORE.id]);
});

test("after a restore it is what was gone back to", () => {
  assert.equal(before(3500, [restore(3001, FIRST.id)]), FIRST.id);
  assert.equal(before(3500, [restore(3001, "image")]), "image");
  assert.equal(before(3500, [restore(3001, FIRST.id, "conflict")]), RESTORE.id, "a restore that failed was none");
  assert.equal(before(3500, [restore(3001, "99999999")]), RESTORE.id, "one that was removed since is none to go back to");
});

test("what was made by itself for that entry is from before it, though the entry had begun", () => {
  assert.equal(before(1999, [], act(2001, { kind: "file", operation: "file.delete_file" })), RISK.id);
  assert.equal(before(1999, [], act(2001, { operation: "bash.exec" })), FIRST.id);
  assert.equal(before(2999, [], restore(3001, FIRST.id)), RESTORE.id);
});

test("it has a name, and says how old it is and what would be lost", async () => {
  const asked = answering((_, path) => (path === "/v1/checkpoints" ? { head: null, checkpoints: ALL } : { events: path.includes("kind=checkpoint") ? [] : [act(1100), act(1200, { kind: "file" })] }));
  const { id, name, about } = await earlierState({ from: 1600, entry: act(1601) });
  assert.deepEqual([id, name], [FIRST.id, "before the upgrade"]);
  assert.match(/** @type {string} */ (about[0]), /^The last checkpoint before this is of .*, 10 minutes earlier\.$/);
  assert.equal(await about[1], "Done since then, and lost where it changed files: 1 command, 1 call on files.");
  assert.match(asked.at(-1)?.path ?? "", /since=1000/);
  const first = await earlierState({ from: 10, entry: act(11) });
  assert.match(/** @type {string} */ (first.about[0]), /only the start/);
  const own = await earlierState({ from: 1999, entry: act(2001, { operation: "file.delete_file" }) });
  assert.match(/** @type {string} */ (own.about[0]), /automatically right before this/);
});

test("where nothing or very much was done since, it says so", async () => {
  /** @type {any[]} */
  let events = [];
  answering((_, path) => (path === "/v1/checkpoints" ? { head: null, checkpoints: [checkpoint("d")] } : { events: path.includes("kind=checkpoint") ? [] : events }));
  assert.equal(await (await earlierState({ from: 1600, entry: act(1601) })).about[1], "Nothing was recorded since then.");
  events = Array(1000).fill(act(1));
  assert.equal(await (await earlierState({ from: 1600, entry: act(1601) })).about[1], "Done since then, and lost where it changed files: 1000 commands, and more.");
});

test("acts that failed and the ends of streams do not count", () => {
  assert.equal(lostActs([act(1), act(2, { outcome: "held_by_human" }), act(3, { event: "ended" }), act(4, { kind: "input" }), { at: 5, kind: "command" }]), "2 commands, 1 other act");
});
