// How a page follows: over the shared worker, or over a connection of its own.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { Events } from "../browser/network.mjs";

openDocument();
globals({ EventSource: Events });
const { eventConnection, followEvents } = await import("/static/bar/live_events.js");

/** The page's end of a shared worker. */
class Worker {
  /** @type {any} */
  static last;
  constructor(url, options) {
    const sent = /** @type {any[]} */ ([]);
    Object.assign(this, { url: String(url), options, sent, port: { postMessage: (wish) => sent.push(wish), close: () => sent.push("closed") } });
    Worker.last = this;
  }
}

/** @type {any[]} */
let told = [];
const listener = { control: (change, age) => told.push(["control", change, age]), handoffs: (open) => told.push(["handoffs", open]), broken: (reason) => told.push(reason) };

beforeEach(() => {
  told = [];
  Events.opened.length = 0;
});

test("without shared workers the page has a connection of its own", () => {
  globals({ SharedWorker: undefined });
  followEvents("ann#1", listener);
  Events.opened[0].tell("control", { kind: "state" });
  Events.opened[0].tell("handoffs", []);
  assert.deepEqual(told, [["control", { kind: "state" }, 0], ["handoffs", []]]);
});

test("all that a page follows comes over one connection", () => {
  /** @type {string[]} */
  const names = [];
  eventConnection({ event: (name) => names.push(name), broken: () => {} }).open();
  assert.deepEqual(Events.opened.map(({ url }) => url), ["/v1/events"]);
  for (const name of ["control", "handoffs", "ports", "egress"]) Events.opened[0].tell(name, {});
  assert.deepEqual(names, ["control", "handoffs", "ports", "egress"]);
});

test("with them it is told by the worker, and says when it goes and comes again", () => {
  globals({ SharedWorker: Worker });
  followEvents("ann#1", listener);
  const worker = Worker.last;
  assert.match(worker.url, /\/bar\/events_worker\.js$/);
  worker.port.onmessage({ data: { name: "control", data: { kind: "state" }, age: 40 } });
  worker.port.onmessage({ data: { name: "handoffs", data: [1], age: 0 } });
  worker.port.onmessage({ data: { broken: "lost" } });
  assert.deepEqual(told, [["control", { kind: "state" }, 40], ["handoffs", [1]], "lost"]);
  dispatchEvent(new Event("pagehide"));
  dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
  dispatchEvent(new Event("online"));
  assert.deepEqual(worker.sent, [{ follow: "ann#1" }, { leave: true }, { follow: "ann#1" }, { hurry: true }]);
  assert.equal(Events.opened.length, 0);
});

test("a worker that cannot be started is replaced by a connection", () => {
  globals({ SharedWorker: Worker });
  followEvents("ann#1", listener);
  Worker.last.onerror();
  assert.equal(Events.opened.length, 1);
});
