// Elements of the checkpoints' panel.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { button, element, name } = await import("/static/checkpoints/elements.js");

test("what an agent wrote is text", () => {
  const made = element("p", "look", "<b>x</b>");
  assert.deepEqual([made.className, made.textContent, made.children.length], ["look", "<b>x</b>", 0]);
});

test("a button acts, and sends no form", () => {
  let acted = 0;
  const made = button("Go", () => acted++);
  made.click();
  assert.deepEqual([made.type, made.className, acted], ["button", "button quiet small", 1]);
});

test("a name has its direction for itself, and is whole in its tooltip", () => {
  const made = name("long…", "longer");
  assert.deepEqual([made.localName, made.className, made.title], ["bdi", "name", "longer"]);
});
