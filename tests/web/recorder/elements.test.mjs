// Elements with text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { element } = await import("/static/checkpoints/elements.js");
const { pieces } = await import("/static/recorder/elements.js");

test("what looks like markup stays text", () => {
  const made = element("p", "what", "<img src=x onerror=alert(1)>");
  assert.deepEqual([made.localName, made.className, made.textContent, made.children.length], ["p", "what", "<img src=x onerror=alert(1)>", 0]);
});

test("code in a sentence is an element of its own", () => {
  const place = element("p");
  place.append(...pieces([{ text: "Agent ran " }, { text: "<b>ls</b>", code: true }]));
  assert.deepEqual([place.textContent, place.children.map(({ localName }) => localName)], ["Agent ran <b>ls</b>", ["code"]]);
});
