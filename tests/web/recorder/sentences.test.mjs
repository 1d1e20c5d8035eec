// What happened, as a sentence.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
await import("/static/recorder/connections.js");
const { answerOf, changesOf, driverOf, isFailed, nameOf, sentence, sentenceText, whoOf } = await import("/static/recorder/sentences.js");
const { rowsOf } = await import("/static/recorder/rows.js");

const AGENT = { type: "agent", name: "key" };
const ME = { type: "person", name: "owner#4fdfc3" };
const ANN = { type: "person", name: "ann#12345" };
const CLOCK = { type: "system", name: "clock" };
/** @param {any} actor @param {string} kind @param {object} [more] @returns {any} */
const entry = (actor, kind, more = {}) => ({ n: 1, at: 1, kind, actor, ...more });
/** @param {...any} entries */
const told = (...entries) => rowsOf(entries).map((row) => sentenceText(row, ME.name));
/** @param {any} actor @param {string} operation @param {object} [more] */
const call = (actor, operation, more = {}, kind = "command") => entry(actor, kind, { operation, outcome: "ok", ...more });

test("a command is told with its exit code, or that it runs or failed", () => {
  const ran = (/** @type {object} */ more) => told(call(AGENT, "shell.exec_command", { request: { command: "ls" }, ...more }))[0];
  assert.equal(ran({ result: { exit_code: 0, status: "completed" } }), "Agent ran ls, exit 0");
  assert.equal(ran({ result: { status: "running" } }), "Agent ran ls, still running");
  assert.equal(ran({ result: { status: "hard_timeout" } }), "Agent ran ls, stopped: out of time");
  assert.equal(ran({}), "Agent ran ls");
  assert.equal(ran({ outcome: "held_by_human", request: undefined }), "Agent tried shell.exec_command: refused, a person had control");
  assert.equal(ran({ request: undefined }), "Agent called shell.exec_command", "as a person's call in private has it");
  assert.equal(ran({ outcome: "something_new" }), "Agent ran ls: failed (something_new)");
  assert.deepEqual(told(entry(ANN, "command", { command: "git pull", session: "s" })), ["ann · 1234 ran git pull in a terminal"]);
});

test("a streamed command has the exit code of its end", () => {
  const begun = call(AGENT, "bash.exec", { request: { command: "make" }, request_id: "r" });
  const ended = call(AGENT, "bash.exec", { event: "ended", request_id: "r", result: { exit_code: 2, status: "completed" } });
  assert.deepEqual(told(begun, ended), ["Agent ran make, exit 2"]);
  assert.equal(isFailed(begun, ended), true);
});

test("a failure is one of the call, or an exit code that is not 0", () => {
  assert.equal(isFailed(call(AGENT, "shell.exec_command", { result: { exit_code: 0 } })), false);
  assert.equal(isFailed(call(AGENT, "shell.exec_command", { result: { exit_code: 1 } })), true);
  assert.equal(isFailed(call(AGENT, "file.write_file", { outcome: "not_found" }, "file")), true);
  assert.equal(isFailed(entry(ANN, "control", { event: "taken" })), false);
});

test("who drives is told by who did it", () => {
  const control = (/** @type {any} */ actor, /** @type {string} */ event, /** @type {object} */ more = {}) => told(entry(actor, "control", { event, ...more }))[0];
  assert.equal(control(ME, "frozen"), "You paused the agent");
  assert.equal(control(ME, "thawed"), "You resumed the agent");
  assert.equal(control(ANN, "taken", { scope: ["cdp", "gui", "shell"] }), "ann · 1234 took control");
  assert.equal(control(ME, "taken", { scope: ["shell"] }), "You took control of the terminals");
  assert.equal(control(ME, "given", { state: "shared" }), "You started driving together");
  assert.equal(control(ME, "given", { state: "human", holder: ANN.name }), "You handed control to ann · 1234");
  assert.equal(control(ME, "private:button"), "You turned on private mode");
  assert.equal(control(ME, "private:focus"), "Private mode turned on: You focused a password field");
  assert.equal(control(ME, "public"), "You turned off private mode");
  assert.equal(control(CLOCK, "returned:idle"), "Control went back to the agent: no input");
  assert.equal(control(ME, "paused", { note: "2 programs stopped: bash" }), "You paused the agent’s programs (2 programs stopped: bash)");
  assert.equal(control(ME, "resumed", { note: "2 programs go on" }), "You resumed the agent’s programs (2 programs go on)");
  assert.equal(control(ANN, "checkpoint:made", { note: "no programs were stopped" }), "ann · 1234 made a checkpoint (no programs were stopped)");
  assert.equal(control(ANN, "checkpoint:restored", { note: "image; 1 program was stopped: bash" }), "ann · 1234 went back to a checkpoint (image; 1 program was stopped: bash)");
  assert.equal(control(ANN, "came"), "ann · 1234 started watching");
  assert.equal(control({ type: "system", name: "" }, "connected"), "The agent made its first call");
  assert.equal(control(ANN, "constructor"), "ann · 1234: constructor");
});

test("a request is told with its answer, and the answer with its request", () => {
  const asked = entry(AGENT, "handoff", { event: "open", id: "h", asks: "confirm", reason: "Place the order for 12.90?" });
  const closed = entry(ANN, "handoff", { event: "closed", id: "h", asks: "confirm", outcome: "done", reason: "Place the order for 12.90?" });
  assert.deepEqual(told(asked, closed), ["Agent asked: Place the order for 12.90?; ann · 1234 answered Yes", "ann · 1234 answered Yes: Place the order for 12.90?"]);
  assert.deepEqual(told(asked), ["Agent asked: Place the order for 12.90?"]);
  assert.deepEqual(told({ ...asked, reason: undefined }), ["Agent asked for help"], "as older records have it");
  assert.deepEqual(told(asked, { ...closed, actor: CLOCK, outcome: "timeout" })[0], "Agent asked: Place the order for 12.90?; nobody answered in time");
});

test("an answer is the choice, Yes or No, or the outcome", () => {
  const answer = (/** @type {object} */ more) => answerOf(entry(ANN, "handoff", more));
  assert.deepEqual(
    [answer({ choice: "Blue", outcome: "done" }), answer({ asks: "confirm", outcome: "cannot" }), answer({ asks: "login", outcome: "cannot" }), answer({ outcome: "partly" })],
    ["Blue", "No", "Can’t do it", "Partly done"],
  );
});

test("a receipt names what was changed", () => {
  const receipt = (/** @type {object} */ more) => told(entry(CLOCK, "receipt", { receipt: { person: ME.name, omitted: 0, ...more } }))[0];
  assert.equal(receipt({ tabs: [{ was: "http://a.test/", now: "http://a.test/login" }] }), "You changed 1 thing: tab /login");
  assert.equal(receipt({ files: ["/home/gem/a.txt", "/home/gem/b.txt"], fields: ["Street", "City"] }), "You changed 4 things: field Street, field City, file a.txt, and 1 more");
  assert.equal(receipt({ omitted: 3, commands: ["ls"] }), "You changed 4 things: command ls, and 3 more");
  assert.equal(receipt({}), "You changed nothing");
  assert.equal(receipt({ private: true }), "You drove in private: nothing is shown of it");
  assert.deepEqual(changesOf({ tabs: [{ was: "http://a.test/x", now: null }, null, 7] }).slice(0, 1), ["closed tab /x"]);
});

test("checkpoints are told by their names, with what was kept and stopped", () => {
  const state = (/** @type {string} */ operation, /** @type {object} */ more) => told(call(AGENT, operation, more, "checkpoint"))[0];
  assert.equal(state("checkpoints.create_checkpoint", { request: { label: "before" }, result: { stopped: 3 } }), "Agent made the checkpoint before; 3 programs were stopped");
  assert.equal(state("checkpoints.create_checkpoint", { request: {} }), "Agent made a checkpoint");
  assert.equal(state("checkpoints.restore_checkpoint", { request: { checkpoint_id: "c-1" }, result: { kept: { id: "c-2" }, stopped: 0 } }), "Agent went back to the checkpoint c-1; the state before was kept");
  assert.equal(state("checkpoints.restore_checkpoint", { request: { checkpoint_id: "image" }, outcome: "conflict" }), "Agent went back to the very beginning: not possible then");
  assert.equal(state("suspension.suspend", {}), "Agent suspended the computer");
});

test("input is summed up by burst", () => {
  const keys = (/** @type {number} */ at, /** @type {object} */ counts) => ({ ...entry(ME, "input", { counts }), n: at, at });
  assert.deepEqual(told(keys(1, { keys: 3 }), keys(2, { keys: 4, clicks: 1 })), ["You used mouse and keyboard: 7 keys, 1 click"]);
  assert.deepEqual(told(keys(1, { odd: 2 })), ["You used mouse and keyboard: 2 other inputs"]);
  assert.deepEqual(told(call(AGENT, "browser-page.click", { request: { selector: "#go" } }, "input")), ["Agent clicked #go"]);
});

test("tabs, links, saved video and the recorder itself have sentences", () => {
  assert.deepEqual(told(entry(AGENT, "navigation", { event: "moved", was: "http://b.test", now: "http://a.test/x" })), ["Agent went to a.test/x"]);
  assert.deepEqual(told(entry(AGENT, "navigation", { event: "closed", was: "http://a.test/x", now: null })), ["Agent closed the tab a.test/x"]);
  assert.deepEqual(told(call(ME, "auth.create_ticket", { request: { scopes: ["view"] } }, "access")), ["You made an invite link: can watch"]);
  assert.match(told(entry(ME, "video", { event: "pinned", until: 1 }))[0], /^You saved video up to /);
  assert.deepEqual(told(entry(CLOCK, "log", { event: "lost", lost: 12 })), ["12 events were lost: the recorder could not keep up"]);
  assert.deepEqual(told(call(ANN, "shell.terminal", { socket: true, ms: 300_000 }, "call")), ["ann · 1234 had a terminal open for 5 min"]);
  assert.deepEqual(told(call(ANN, "shell.terminal", { ms: 300_000 })), ["ann · 1234 had a terminal open for 5 min"], "as older records have it");
});

test("what a program wrote is marked as such, and stays text of bounded length", () => {
  const [row] = rowsOf([call(AGENT, "shell.exec_command", { request: { command: `<script>${"x".repeat(1e6)}` } })]);
  const code = sentence(row, null).find((/** @type {any} */ piece) => piece.code);
  assert.equal(code?.text.length, 80);
  assert.match(code?.text ?? "", /^<script>x/);
});

test("odd records are told somehow", () => {
  const odd = [
    { kind: "control" }, { kind: "handoff", event: 7, reason: {} }, { kind: "receipt" }, { kind: "receipt", receipt: [1] }, { kind: "navigation", event: "moved", now: 7 },
    { kind: "input", counts: "many" }, { kind: "command", operation: 5, request: "x", result: [], outcome: {} }, { kind: "checkpoint", operation: "checkpoints.create_checkpoint", result: { checkpoint: 3 }, outcome: "ok" },
    { kind: "log" }, { kind: "video" }, { kind: "toString" }, { kind: "__proto__", operation: "x" },
  ];
  for (const more of odd) assert.equal(typeof told(entry(AGENT, more.kind, more))[0], "string", JSON.stringify(more));
});

test("actors have a colour and a name in one form", () => {
  assert.deepEqual([AGENT, ME, ANN, CLOCK].map((actor) => driverOf(actor, ME.name)), ["agent", "you", "other", "system"]);
  assert.deepEqual([AGENT, ME, ANN, CLOCK].map((actor) => whoOf(actor, ME.name)), ["Agent", "You", "ann · 1234", "Tandem"]);
  assert.deepEqual([AGENT, ME, ANN, { type: "agent", name: "unknown" }].map((actor) => nameOf(actor, ME.name)), ["Agent · key", "You · owner · 4fdf", "Person · ann · 1234", "Agent"]);
});

test("an approval is told by what was asked, and how it ended", () => {
  const asked = { asks: "approve", id: "h-1", subject: "shell", details: { command: "git push" }, reason: "Run a command?" };
  const open = entry(AGENT, "handoff", { event: "open", ...asked });
  assert.deepEqual(told(open, entry(ME, "handoff", { event: "closed", outcome: "task", ...asked })), ["Agent asked to run git push; You answered Allow for this task", "You answered Allow for this task: git push"]);
  assert.deepEqual(told(open, entry(CLOCK, "handoff", { event: "closed", outcome: "timeout", ...asked }))[0], "Agent asked to run git push; nobody answered in time");
});

test("connections have sentences of their own, and one that was refused failed", () => {
  const refused = entry(CLOCK, "egress", { event: "connections", action: "deny", host: "a.example", port: 443, rule: "default", process: "curl a" });
  assert.deepEqual([told(refused), isFailed(refused)], [["curl was refused a.example:443 by the rule default"], true]);
});
