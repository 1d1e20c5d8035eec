// The last acts, as the recorder's sentences.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, Events, refusing, settled } from "../browser/network.mjs";

openDocument();
globals({ EventSource: Events, location: new URL("https://box.test/"), requestAnimationFrame: (draw) => draw() });
const { LastActs } = await import("/static/home/last_acts.js");

const AGENT = { type: "agent", name: "key" };
/** @param {number} n @param {string} command @param {number} [code] */
const ran = (n, command, code = 0) => ({ n, at: 1000 + n * 60, kind: "command", actor: AGENT, operation: "shell.exec_command", outcome: "ok", request: { command }, result: { exit_code: code } });
/** @type {any} */
let list;
let acted = 0;

beforeEach(() => {
  acted = 0;
  Events.opened.length = 0;
  list = document.createElement("ol");
  Object.assign(document, { hidden: false });
});

const opened = (events) => (answering(() => ({ events, next: events.length })), new LastActs(list, "ann#1234", () => acted++));
const said = () => list.children.map((row) => row.lastElementChild.textContent);

test("there are at most five, the latest first, each with a link to its moment", async () => {
  assert.equal(await opened([1, 2, 3, 4, 5, 6].map((n) => ran(n, `make ${n}`))).start(), true);
  assert.deepEqual(said(), [6, 5, 4, 3, 2].map((n) => `Agent ran make ${n}, exit 0`));
  assert.equal(list.querySelector("a").href, "https://box.test/recorder#t=1970-01-01T00:22:40.000Z");
  assert.deepEqual([list.querySelector("code").textContent, list.children[0].dataset.driver], ["make 6", "agent"]);
});

test("what happens is shown as it happens, and told to the page", async () => {
  await opened([ran(1, "ls")]).start();
  assert.match(Events.opened[0].url, /^\/v1\/recorder\/events\?kind=[\w,]+&after=1$/);
  Events.opened[0].tell("event", { ...ran(2, "rm -r /nope", 1), actor: { type: "person", name: "ann#1234" } });
  assert.deepEqual([said()[0], list.children[0].className, list.children[0].dataset.driver, acted], ["You ran rm -r /nope, exit 1", "failed", "you", 1]);
});

test("a stream that the server refused is opened again after the last act", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await opened([ran(1, "ls")]).start();
  Events.opened[0].tell("event", ran(4, "pwd"));
  Events.opened[0].fail(Events.CLOSED);
  t.mock.timers.tick(500);
  assert.match(Events.opened[1].url, /&after=4$/);
});

test("before anything happened it says so", async () => {
  await opened([]).start();
  assert.equal(list.textContent, "Nothing happened yet.");
});

test("who may not read the record, or has none, gets no list", async () => {
  answering(() => refusing(403, "no"));
  assert.equal(await new LastActs(list, "", () => {}).start(), false);
  assert.equal(Events.opened.length, 0);
});

test("a page that nobody looks at follows nothing, and catches up when somebody does", async () => {
  const acts = opened([ran(1, "ls")]);
  await acts.start();
  Object.assign(document, { hidden: true });
  document.dispatchEvent(new Event("visibilitychange"));
  assert.equal(Events.opened[0].readyState, Events.CLOSED);
  answering(() => ({ events: [ran(1, "ls"), ran(2, "pwd")], next: 2 }));
  Object.assign(document, { hidden: false });
  document.dispatchEvent(new Event("visibilitychange"));
  await settled();
  assert.equal(said()[0], "Agent ran pwd, exit 0");
});
