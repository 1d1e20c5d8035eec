// The client of the control lease: what it asks the server for, and which state it believes.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";
import { control } from "./control.mjs";

openDocument();
const { Lease } = await import("/static/bar/lease.js");

/** @type {any[]} */
let changes = [];
/** @type {any} */
let lease;

beforeEach(() => {
  changes = [];
  lease = new Lease((state, kind, by) => changes.push([state.epoch, kind, by]));
});

test("each change that the server tells is the state from then on", () => {
  lease.show({ kind: "taken", by: "ann#1234", control: control({ epoch: 4 }) });
  assert.deepEqual(changes, [[4, "taken", "ann#1234"]]);
  assert.equal(lease.now.epoch, 4);
});

test("a response that an event has overtaken changes nothing, but a state told anew does", async () => {
  lease.show({ kind: "taken", by: "", control: control({ epoch: 9 }) });
  answering(() => control({ epoch: 8 }));
  await lease.do("renew");
  assert.equal(lease.now.epoch, 9);
  lease.show({ kind: "state", by: "", control: control({ epoch: 2 }) });
  assert.equal(lease.now.epoch, 2, "the server was started anew");
});

test("each verb is an operation of the API", async () => {
  const asked = answering(() => control());
  await lease.do("take");
  await lease.give("shared");
  await lease.answer("bob#9/9", true);
  await lease.answer("bob#9/9", false);
  assert.deepEqual(asked.map(({ method, path, body }) => [method, path, body]), [
    ["POST", "/v1/control/take", {}],
    ["POST", "/v1/control/give", { to: "shared" }],
    ["POST", "/v1/control/grant", { subject: "bob#9/9" }],
    ["DELETE", "/v1/control/request/bob%239%2F9", undefined],
  ]);
});

test("what is left of a time counts from when the server sent the state, and is never negative", (t) => {
  const now = t.mock.method(performance, "now", () => 10_000);
  lease.show({ kind: "state", by: "", control: control() });
  now.mock.mockImplementation(() => 12_500);
  assert.equal(lease.secondsLeft(30), 28);
  assert.equal(lease.secondsLeft(1), 0);
  lease.show({ kind: "state", by: "", control: control() }, 5_000);
  assert.equal(lease.secondsLeft(30), 25);
});
