// Elements are built of text that is never parsed as HTML.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { element, paragraphs, withCode } = await import("/static/docs/elements.js");

test("text is text, whatever it holds", () => {
  const made = element("p", { text: "<img src=x onerror=alert(1)>" });
  assert.deepEqual([made.children.length, made.textContent], [0, "<img src=x onerror=alert(1)>"]);
});

test("attributes are set, and those without a value are left out", () => {
  const made = element("a", { class: "mark must", href: "#x", title: undefined }, "go");
  assert.deepEqual([made.className, made.getAttribute("href"), made.hasAttribute("title"), made.textContent], ["mark must", "#x", false, "go"]);
});

test("a description has a paragraph for each block, and code between backticks", () => {
  const made = paragraphs("Starts `tmux`.\n\n \n\nReads `a` and `b`.\n");
  assert.deepEqual(made.map((paragraph) => paragraph.textContent), ["Starts tmux.", "Reads a and b.\n"]);
  assert.deepEqual(made[1].querySelectorAll("code").map((code) => code.textContent), ["a", "b"]);
});

test("a backtick that opens nothing is no code", () => {
  assert.deepEqual(withCode("plain"), ["plain"]);
});
