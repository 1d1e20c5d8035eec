// How an agent connects: code for each client, and a key in all of them.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

const body = openDocument();
globals({ location: new URL("https://box.test/") });
const { showConnect } = await import("/static/home/connect.js");

/** @type {any} */
let place;

beforeEach(() => {
  place = document.createElement("div");
  body.replaceChildren(place);
});

test("a key that is made stands in all examples, and the tab stays", async () => {
  answering((method) => (method === "POST" ? { key_id: "k", key: "tandem_1", expires_at: 1 } : []));
  showConnect(place, "admin");
  await settled();
  place.querySelectorAll("[role=tab]")[4].click();
  assert.match(place.querySelector("code").textContent, /Bearer YOUR_KEY/);
  place.querySelector("form").onsubmit(new Event("submit", { cancelable: true }));
  await settled();
  assert.match(place.querySelector("pre code").textContent, /^# pip install agent-sandbox[^]*Bearer tandem_1"/);
});

test("who may make no keys is told whom to ask, and asks for none", () => {
  const asked = answering(() => []);
  showConnect(place, "other");
  assert.match(place.querySelector("p").textContent, /^Ask who manages this sandbox for a key/);
  assert.deepEqual([place.querySelector("form"), asked.length], [null, 0]);
});

test("where nobody signs in it says so", () => {
  showConnect(place, "none");
  assert.equal(place.querySelector("p").textContent, "This sandbox asks for no sign-in: any key works.");
});
