// The audit log: a window of events that grows to both sides, is followed at its end, and is bounded.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { answering, Events, refusing } from "../browser/network.mjs";

globals({ EventSource: Events, location: new URL("http://box.test/?lang=en") });
const { EventLog } = await import("/static/recorder/event_log.js");

const AGENT = { type: "agent", name: "key" };
/** @param {number} n @returns {any} */
const entry = (n) => ({ n, at: n, kind: "command", actor: AGENT });
const numbered = (/** @type {number} */ from, /** @type {number} */ count) => Array.from({ length: count }, (_, index) => entry(from + index));

/** @type {string[]} */
let states = [];
let changes = 0;
/** @type {any} */
let log;
/** A record of that many events, of which pages are read as the API gives them. @param {number} total */
const recorded = (total) =>
  answering((_, path) => {
    const query = new URL(path, "http://box.test").searchParams;
    const number = (/** @type {string} */ name, /** @type {number} */ otherwise) => Number(query.get(name) ?? otherwise);
    const all = numbered(1, total).filter(({ n, at }) => n > number("after", 0) && n < number("before", Infinity) && at < number("until", Infinity));
    return { events: query.has("after") ? all.slice(0, 1000) : all.slice(-1000) };
  });

beforeEach(() => {
  [states, changes] = [[], 0];
  log = new EventLog(() => changes++, (state) => states.push(state));
});

test("the latest events of the chosen kinds and who drives are loaded, and those after them are followed", async () => {
  const asked = answering(() => ({ events: [entry(6), entry(7)] }));
  await log.show(["command", "file"]);
  assert.equal(asked[0].path, "/v1/recorder/events?kind=command%2Cfile%2Ccontrol&limit=1000");
  const events = Events.opened.at(-1);
  assert.equal(events.url, "/v1/recorder/events?kind=command%2Cfile%2Ccontrol&after=7");
  events.dispatchEvent(new Event("open"));
  events.tell("event", entry(8));
  assert.deepEqual([log.entries.map(({ n }) => n), states, changes], [[6, 7, 8], ["live"], 2]);
  events.fail(0);
  assert.deepEqual(states, ["live", "lost"]);
});

test("a broken stream goes on after the last event, also when the server answered with an error", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  answering(() => ({ events: [entry(6)] }));
  await log.show(["command"]);
  Events.opened.at(-1).tell("event", entry(9));
  Events.opened.at(-1).fail(Events.CLOSED);
  t.mock.timers.tick(500);
  assert.equal(Events.opened.at(-1).url, "/v1/recorder/events?kind=command%2Ccontrol&after=9");
  Events.opened.at(-1).dispatchEvent(new Event("open"));
  assert.deepEqual(states, ["lost", "live"]);
});

test("other kinds end what was followed before; who drives is read even where no kind is chosen", async () => {
  answering(() => ({ events: [] }));
  await log.show(["command"]);
  const before = Events.opened.at(-1);
  await log.show([]);
  assert.equal(before.readyState, Events.CLOSED);
  assert.equal(Events.opened.at(-1).url, "/v1/recorder/events?kind=control&after=0");
});

test("earlier pages are read until there is none", async () => {
  recorded(2500);
  await log.show(["command"]);
  assert.deepEqual([log.entries[0].n, log.entries.length, log.hasEarlier], [1501, 1000, true]);
  await log.earlier();
  await log.earlier();
  assert.deepEqual([log.entries[0].n, log.entries.at(-1).n, log.entries.length, log.hasEarlier], [1, 2500, 2500, false]);
  const asked = recorded(2500);
  await log.earlier();
  assert.equal(asked.length, 0);
});

test("a moment long ago is shown with what came before and after, and is not followed until the end is reached", async () => {
  recorded(5000);
  const opened = Events.opened.length;
  await log.show(["command"], 2500);
  assert.deepEqual([log.entries[0].n, log.entries.at(-1).n, log.hasEarlier, log.hasLater, states.at(-1)], [1501, 3500, true, true, "past"]);
  assert.equal(Events.opened.length, opened);
  await log.later();
  assert.deepEqual([log.entries.at(-1).n, log.hasLater, Events.opened.length], [4500, true, opened]);
  await log.later();
  assert.deepEqual([log.entries.at(-1).n, log.hasLater, Events.opened.length], [5000, false, opened + 1]);
});

test("what the page keeps is bounded, on both sides", async () => {
  recorded(20_000);
  await log.show(["command"]);
  for (let page = 0; page < 8; page++) await log.earlier();
  assert.deepEqual([log.entries.length, log.hasLater, Events.opened.at(-1).readyState, states.at(-1)], [5000, true, Events.CLOSED, "past"]);
  recorded(0);
  await log.show(["command"]);
  for (let n = 0; n < 5010; n++) Events.opened.at(-1).tell("event", entry(n));
  assert.deepEqual([log.entries.length, log.entries[0].n, log.hasEarlier], [5000, 10, true]);
});

test("an answer that comes after another window was chosen does not count", async () => {
  /** @type {(value: unknown) => void} */
  let answer = () => {};
  answering(() => new Promise((done) => (answer = done)));
  const first = log.show(["command"]);
  answering(() => ({ events: [entry(1)] }));
  await log.show(["file"]);
  answer({ events: [entry(9)] });
  await first;
  assert.deepEqual(log.entries.map(({ n }) => n), [1]);
});

test("one event is read whole", async () => {
  const asked = answering(() => entry(7));
  assert.equal((await log.read(7)).n, 7);
  assert.equal(asked[0].path, "/v1/recorder/events/7");
});

test("who may not see it is told so, and a failure is a lost connection", async () => {
  answering(() => refusing(403, "no"));
  await log.show(["command"]);
  answering(() => refusing(503, "no"));
  await log.show(["command"]);
  assert.deepEqual(states, ["refused", "lost"]);
});
