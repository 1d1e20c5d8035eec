// The list of a page's shortcuts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { shortcutList, shortcutsOf } = await import("/static/bar/shortcut_list.js");

test("each page has the shortcuts that do something there", () => {
  const keys = (page, has) => shortcutsOf({ page, ...has }).map((shortcut) => shortcut.keys);
  assert.deepEqual(keys("", { signedIn: false, screen: false }), ["?", "Esc"]);
  assert.deepEqual(keys("live", { signedIn: true, screen: true }), ["?", "Esc", "Enter", "Ctrl+Alt+Enter", "Ctrl+Alt+Backspace", "Ctrl+Alt+A", "Ctrl+Alt+P"]);
  assert.equal(keys("api", { signedIn: true, screen: false }).at(-1), "/");
  assert.equal(keys("recorder", { signedIn: true, screen: false }).at(-1), "↑ ↓");
});

test("each has its keys and what they do", () => {
  const list = shortcutList({ page: "api", signedIn: false, screen: false });
  assert.deepEqual(list.querySelectorAll("kbd").map((key) => key.textContent), ["?", "Esc", "/"]);
  assert.equal(list.querySelectorAll("dd").length, 3);
});
