// Elements made in one expression.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

openDocument();
const { copyOf, element, quiet, times } = await import("/static/home/elements.js");

test("an element has its properties and children, and text is never markup", () => {
  const made = element("p", { className: "muted" }, "<b>", element("code", { textContent: "ls" }));
  assert.deepEqual([made.className, made.textContent, made.querySelector("b")], ["muted", "<b>ls", null]);
});

test("a quiet button does what it says", () => {
  const done = [];
  quiet("Revoke", () => done.push(1)).onclick?.(/** @type {any} */ (null));
  assert.deepEqual(done, [1]);
});

test("a choice of times has the given one chosen", () => {
  const select = times("ttl", [[60, "1 min"], [3600, "1 h"]], 3600);
  assert.deepEqual([select.value, /** @type {any} */ ([...select.children]).map((option) => option.value)], ["3600", ["60", "3600"]]);
});

test("a field is copied, or selected where there is no clipboard", async () => {
  const field = element("input", { value: "http://box.test/p" });
  const copied = [];
  globals({ navigator: { clipboard: { writeText: async (text) => void copied.push(text) } } });
  assert.deepEqual([await copyOf(field), copied], [true, ["http://box.test/p"]]);
  globals({ navigator: { clipboard: { writeText: async () => Promise.reject(new Error("no")) } } });
  assert.equal(await copyOf(field), false);
  globals({ navigator: {} });
  assert.equal(await copyOf(field), false);
});
