// The audit log: loaded, followed, bounded, and told in a line each.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { answering, Events, refusing } from "../browser/network.mjs";

globals({ EventSource: Events, location: new URL("http://box.test/?lang=en") });
const { EventLog, summary } = await import("/static/recorder/event_log.js");

const AGENT = { type: "agent", name: "key" };
/** @param {number} n @param {object} [more] @returns {any} */
const entry = (n, more) => ({ n, at: n, kind: "command", actor: AGENT, ...more });

/** @type {string[]} */
let states = [];
let changes = 0;
/** @type {any} */
let log;

beforeEach(() => {
  [states, changes] = [[], 0];
  log = new EventLog(() => changes++, (state) => states.push(state));
});

test("the latest events of the chosen kinds are loaded, and those after them are followed", async () => {
  const asked = answering(() => ({ events: [entry(6), entry(7)] }));
  await log.show(["command", "file"]);
  assert.equal(asked[0].path, "/v1/recorder/events?kind=command%2Cfile&limit=1000");
  const events = Events.opened.at(-1);
  assert.equal(events.url, "/v1/recorder/events?kind=command%2Cfile&after=7");
  events.dispatchEvent(new Event("open"));
  events.tell("event", entry(8));
  assert.deepEqual([log.entries.map(({ n }) => n), states, changes], [[6, 7, 8], ["live"], 2]);
  events.fail(0);
  assert.deepEqual(states, ["live", "lost"]);
});

test("other kinds end what was followed before; no kind at all is asked for as none", async () => {
  answering(() => ({ events: [] }));
  await log.show(["command"]);
  const before = Events.opened.at(-1);
  await log.show([]);
  assert.equal(before.readyState, Events.CLOSED);
  assert.equal(Events.opened.at(-1).url, "/v1/recorder/events?kind=none");
});

test("a page that stays open keeps a thousand events", async () => {
  answering(() => ({ events: [] }));
  await log.show(["command"]);
  for (let n = 0; n < 1010; n++) Events.opened.at(-1).tell("event", entry(n));
  assert.deepEqual([log.entries.length, log.entries[0].n], [1000, 10]);
});

test("who may not see it is told so, and a failure is a lost connection", async () => {
  answering(() => refusing(403, "no"));
  await log.show(["command"]);
  answering(() => refusing(503, "no"));
  await log.show(["command"]);
  assert.deepEqual(states, ["refused", "lost"]);
});

test("an event is told by what was done, and to what", () => {
  assert.equal(summary(entry(1, { operation: "shell.exec_command", command: "ls -la" })), "shell.exec_command  ls -la");
  assert.equal(summary(entry(1, { operation: "file.read_file", request: { file: "/etc/hosts" } })), "file.read_file  /etc/hosts");
  assert.equal(summary(entry(1, { operation: "browser.execute_action", request: { action: { action_type: "CLICK", x: 1.4, y: 9.6 } } })), "browser.execute_action  CLICK 1, 10");
  assert.equal(summary(entry(1, { operation: "browser.click", request: { selector: "#go" } })), "browser.click  #go");
  assert.equal(summary(entry(1, { kind: "control", event: "taken" })), "taken");
});

test("navigation, input and receipts have sentences of their own", () => {
  assert.equal(summary(entry(1, { kind: "navigation", event: "moved", was: "http://a.test", now: "http://b.test" })), "went to http://b.test");
  assert.equal(summary(entry(1, { kind: "navigation", event: "closed", was: "http://a.test", now: null })), "closed http://a.test");
  assert.equal(summary(entry(1, { kind: "input", counts: { keys: 12, clicks: 1 } })), "12 keys, 1 clicks");
  const receipt = { person: "ann", omitted: 2, tabs: [1], windows_opened: [], windows_closed: [], fields: [1, 2], files: [], commands: [1], downloads: [] };
  assert.equal(summary(entry(1, { kind: "receipt", receipt })), "ann changed 6 things");
});
