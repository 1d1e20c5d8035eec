// One connection for all pages of a browser.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const { SharedEvents } = await import("/static/bar/shared_events.js");

/** @type {string[]} */
let done = [];
/** @type {any} */
let listener;
/** @type {any} */
let events;

beforeEach(() => {
  done = [];
  events = new SharedEvents((given) => {
    listener = given;
    return /** @type {any} */ ({ open: () => done.push("open"), hurry: () => done.push("hurry"), close: () => done.push("close") });
  });
});

/** A page's end of its port. */
function page() {
  /** @type {any[]} */
  const told = [];
  const port = /** @type {any} */ ({ postMessage: (message) => told.push(message) });
  events.add(port);
  return { told, send: (wish) => port.onmessage({ data: wish }) };
}

test("the first page opens the connection, the others are told what is known", () => {
  const [one, two] = [page(), page()];
  one.send({ follow: "ann#1" });
  listener.event("control", { kind: "taken", by: "ann#1", control: {} });
  listener.event("handoffs", [1]);
  two.send({ follow: "ann#1" });
  assert.deepEqual(one.told.map(({ name, data }) => [name, data.kind ?? data]), [["control", "taken"], ["handoffs", [1]]]);
  assert.deepEqual(two.told.map(({ name, data }) => [name, data.kind ?? data]), [["control", "state"], ["handoffs", [1]]], "it did not happen now");
  assert.deepEqual(done, ["open", "hurry"]);
});

test("each event and each break is told to all pages", () => {
  const pages = [page(), page()];
  for (const { send } of pages) send({ follow: "ann#1" });
  listener.event("handoffs", []);
  listener.broken("lost");
  for (const { told } of pages) assert.deepEqual(told, [{ name: "handoffs", data: [], age: 0 }, { broken: "lost" }]);
});

test("who signed in as somebody else gets a connection of that person's", () => {
  const [one, two] = [page(), page()];
  one.send({ follow: "ann#1" });
  listener.event("handoffs", ["ann's"]);
  two.send({ follow: "bob#2" });
  assert.deepEqual([done, two.told], [["open", "open"], []]);
});

test("the connection ends with the last page", () => {
  const [one, two] = [page(), page()];
  one.send({ follow: "ann#1" });
  two.send({ follow: "ann#1" });
  one.send({ leave: true });
  two.send({ hurry: true });
  assert.deepEqual(done, ["open", "hurry", "hurry"]);
  two.send({ leave: true });
  assert.equal(done.at(-1), "close");
});

test("pages that crashed without a word do not pile up", () => {
  const first = page();
  first.send({ follow: "ann#1" });
  for (let number = 0; number < 64; number++) page().send({ follow: "ann#1" });
  const before = first.told.length;
  listener.event("handoffs", []);
  assert.equal(first.told.length, before);
});
