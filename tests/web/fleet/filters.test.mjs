// Which sandboxes the fleet's page shows, and in which order.

import assert from "node:assert/strict";
import { test } from "node:test";

import { comparison, matches } from "../../../fleet/tandem_fleet/web/filters.js";

/** @param {string} name @param {object} [fields] */
const sandbox = (name, fields) => ({ id: `id-${name}`, name, state: "ready", reason: "", labels: {}, created_at: "2026-01-01T00:00:00Z", driver: null, picture: "", ...fields });
const ALL = { text: "", state: "", needsMe: false };

test("words are looked for in names and labels, and a whole label is one", () => {
  const one = sandbox("agent-01", { labels: { team: "Shop", skill: "german" } });
  for (const [text, found] of /** @type {[string, boolean][]} */ ([
    ["", true], ["AGENT", true], ["agent shop", true], ["team=shop", true], ["team=sho", false], ["other", false], ["agent other", false], ["  01 ", true],
  ])) assert.equal(matches(one, 0, { ...ALL, text }), found, text);
});

test("who needs a person has asked for one, or has failed", () => {
  assert.equal(matches(sandbox("a"), 0, { ...ALL, needsMe: true }), false);
  assert.equal(matches(sandbox("a"), 1, { ...ALL, needsMe: true }), true);
  assert.equal(matches(sandbox("a", { state: "failed" }), 0, { ...ALL, needsMe: true }), true);
  assert.equal(matches(sandbox("a", { state: "paused" }), 1, { ...ALL, state: "ready" }), false);
});

test("the orders", () => {
  const some = [sandbox("a10", { state: "paused", created_at: "2026-01-03T00:00:00Z" }), sandbox("a2"), sandbox("a1", { state: "failed" })];
  const sorted = (/** @type {any} */ order) => [...some].sort(comparison(order, ({ name }) => Number(name === "a2"))).map(({ name }) => name).join();
  assert.equal(sorted("name"), "a1,a2,a10");
  assert.equal(sorted("needs"), "a2,a1,a10");
  assert.equal(sorted("newest"), "a10,a1,a2");
  assert.equal(sorted("state"), "a1,a2,a10");
});
