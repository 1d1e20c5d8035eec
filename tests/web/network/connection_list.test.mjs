// The hosts that the sandbox connects to.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { ALLOWED, LEARNED, REFUSED } from "./connections.mjs";

const body = openDocument();
const { groupsOf } = await import("/static/network/connection_groups.js");
const { ConnectionList, whoOf } = await import("/static/network/connection_list.js");

/** @type {any} */
let place;
/** @type {any} */
let list;
/** @type {string[][]} */
let chosen = [];
/** What was done. */
let done = "Allowed for this task";

beforeEach(() => {
  chosen = [];
  place = document.createElement("ul");
  body.replaceChildren(place);
  list = new ConnectionList(place, async ({ host }, choice) => (chosen.push([host, choice]), done));
});

/** @param {...any} connections */
const show = (...connections) => list.show(groupsOf(connections, []));
const hosts = () => place.children.map((item) => item.querySelector("bdi").textContent);
/** @param {number} at */
const buttons = (at) => place.children[at].querySelectorAll("button").filter(({ disabled }) => !disabled);
/** Long enough after the rows have moved. */
const later = () => new Promise((after) => setTimeout(after, 550));

test("a host says what became of it, by which rule, for whom and how much", () => {
  show(REFUSED, ALLOWED, LEARNED);
  assert.deepEqual(hosts(), ["cdn.example.net:443", "api.example.com:443", "pypi.org:443"]);
  const [learned, refused, allowed] = place.children;
  assert.deepEqual([refused, learned, allowed].map(({ dataset }) => dataset.state), ["refused", "learned", "allowed"]);
  assert.equal(refused.querySelector("small").textContent, "curl, shell main · rule “default” · once");
  assert.equal(allowed.querySelector("small").textContent, "pip, shell main · rule “packages” · once · 1 open · ↑ 2.0 KiB ↓ 1.0 MiB");
  assert.equal(whoOf(LEARNED), "unknown program");
});

test("what was refused or learned can be decided, each for its host", async () => {
  show(REFUSED, ALLOWED, LEARNED);
  assert.deepEqual([0, 1, 2].map((at) => buttons(at).map(({ textContent }) => textContent)), [["Always allow", "Deny"], ["Allow", "Always allow", "Deny"], []]);
  assert.equal(buttons(1)[1].getAttribute("aria-label"), "Always allow api.example.com:443");
  buttons(1)[0].click();
  assert.deepEqual(chosen, [], "it has just moved there");
  await later();
  buttons(1)[0].click();
  await settled();
  assert.deepEqual(chosen, [["api.example.com", "allow"]]);
  assert.equal(place.children[1].querySelector(".tools").textContent, "Allowed for this task");
});

test("where no rule for the host would help, none is offered", () => {
  show({ ...REFUSED, rule: "protected" });
  assert.equal(buttons(0).length, 0);
});

test("what was decided is said until the host is connected to again, and what failed can be tried again", async () => {
  show(REFUSED);
  await later();
  done = "";
  buttons(0)[0].click();
  await settled();
  assert.equal(buttons(0).length, 3);
  done = "Denied";
  buttons(0)[2].click();
  await settled();
  show(REFUSED);
  assert.equal(buttons(0).length, 0);
  show({ ...REFUSED, id: 10 }, REFUSED);
  assert.equal(buttons(0).length, 3);
});

test("rows stay where they are while somebody points at them", () => {
  show(ALLOWED);
  place.dispatchEvent(new Event("pointerenter"));
  show({ ...REFUSED, id: 11, at: 2000, ended: 2000 }, ALLOWED);
  assert.deepEqual(hosts(), ["pypi.org:443", "api.example.com:443"]);
  place.dispatchEvent(new Event("pointerleave"));
  assert.deepEqual(hosts(), ["api.example.com:443", "pypi.org:443"]);
  show(ALLOWED);
  assert.deepEqual(hosts(), ["pypi.org:443"]);
});

test("a row opens with its connections, as programs wrote them", () => {
  show({ ...REFUSED, process: { pid: 1, command: "curl \u202e<b>" } }, { ...REFUSED, id: 2, port: 80, protocol: "http", request: "POST /upload", count: 4 });
  const details = place.querySelector("details");
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  const [first, second] = place.querySelectorAll(".connections li");
  assert.equal(first.querySelector("code").textContent, "curl ⟨U+202E⟩<b>");
  assert.match(second.textContent, /:80 · HTTP · rule “default” · 4 times/);
  assert.deepEqual(second.querySelectorAll("code").map(({ textContent }) => textContent).slice(1), ["POST /upload", "denied by the rule default"]);
});
