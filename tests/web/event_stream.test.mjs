// A stream of events, and how it comes back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "./browser/dom.mjs";
import { Events } from "./browser/network.mjs";

globals({ EventSource: Events });
const { EventStream } = await import("/static/event_stream.js");

/** @type {any[]} */
let told = [];
/** @type {any} */
let connection;
const last = () => /** @type {Events} */ (Events.opened.at(-1));

beforeEach(() => {
  told = [];
  Events.opened.length = 0;
  connection = new EventStream(() => `/v1/events?after=${told.length}`, ["control", "handoffs"], {
    opened: () => told.push("opened"),
    event: (name, data) => told.push([name, data]),
    broken: (reason) => told.push(reason),
  });
  connection.open();
});

test("all events come over one connection", () => {
  assert.deepEqual(Events.opened.map(({ url }) => url), ["/v1/events?after=0"]);
  last().tell("control", { kind: "state" });
  last().tell("handoffs", []);
  assert.deepEqual(told, [["control", { kind: "state" }], ["handoffs", []]]);
});

test("it is opened again when it breaks, later each time up to a bound, and soon again once something came", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const delay of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const opened = Events.opened.length;
    last().fail(0);
    t.mock.timers.tick(delay - 1);
    assert.equal(Events.opened.length, opened, `not before ${delay} ms`);
    t.mock.timers.tick(1);
    assert.equal(Events.opened.length, opened + 1);
  }
  last().tell("handoffs", []);
  last().fail(0);
  const opened = Events.opened.length;
  t.mock.timers.tick(500);
  assert.equal(Events.opened.length, opened + 1);
});

test("it says that it is open, and reads on from where it was", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  last().dispatchEvent(new Event("open"));
  last().fail(0);
  t.mock.timers.tick(500);
  assert.deepEqual([told, last().url], [["opened", "lost"], "/v1/events?after=2"]);
});

test("a refusal and a lost connection are told apart", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  last().fail(0);
  t.mock.timers.tick(500);
  last().fail(Events.CLOSED);
  assert.deepEqual(told, ["lost", "refused"]);
});

test("one that waits can be hurried, one that is open is left, and a closed one stays closed", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  connection.hurry();
  assert.equal(Events.opened.length, 1);
  last().fail(0);
  connection.hurry();
  assert.equal(Events.opened.length, 2);
  last().fail(0);
  connection.close();
  t.mock.timers.tick(60_000);
  assert.equal(Events.opened.length, 2);
});
