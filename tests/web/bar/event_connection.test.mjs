// The connection to what a page follows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { Events } from "../browser/network.mjs";

globals({ EventSource: Events });
const { EVENTS, eventConnection } = await import("/static/bar/event_connection.js");

test("all that a page follows comes over one connection", () => {
  /** @type {string[]} */
  const told = [];
  eventConnection({ event: (name) => told.push(name), broken: () => {} }).open();
  assert.deepEqual(Events.opened.map(({ url }) => url), ["/v1/events"]);
  for (const name of EVENTS) Events.opened[0].tell(name, {});
  assert.deepEqual(told, ["control", "handoffs", "ports", "egress"]);
});
