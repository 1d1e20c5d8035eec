// The clipboard panel: what is written goes to the desktop once, what is copied there comes back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

const body = openDocument();
const { ClipboardPanel } = await import("/static/vnc/clipboard_panel.js");

/** @type {any} */
let shown;
/** @type {string[]} */
let sent = [];
/** @type {string[]} */
let written = [];

/** @param {string} state of the permission to read @param {string} [local] what this computer's clipboard holds */
async function open(state, local = "") {
  [sent, written] = [[], []];
  shown = parts(body, { text: "textarea", hint: "p", join: "button" });
  const clipboard = { readText: async () => (state === "refused" ? Promise.reject(new Error()) : local), writeText: async (text) => void written.push(text) };
  globals({ navigator: { clipboard, permissions: { query: async () => ({ state: state === "refused" ? "granted" : state }) } } });
  const panel = new ClipboardPanel(shown, (text) => sent.push(text));
  await settled();
  return panel;
}

/** @param {string} text */
function write(text) {
  shown.text.value = text;
  shown.text.dispatchEvent(new Event("input"));
}

beforeEach(() => body.replaceChildren());

test("what is written goes to the desktop, and the same is not sent twice", async () => {
  await open("denied");
  write("hello");
  write("hello");
  assert.deepEqual(sent, ["hello"]);
});

test("what was copied on the desktop is shown and written to this computer, and not sent back", async () => {
  const panel = await open("denied");
  await panel.take({ text: "from there" });
  write("from there");
  assert.deepEqual([shown.text.value, written, sent], ["from there", ["from there"], []]);
});

test("a text over the limit is not sent, and what was there stays", async () => {
  await open("denied");
  write("\n".repeat(600_000)); // two bytes each on the wire
  assert.deepEqual([sent.length, shown.hint.textContent.startsWith("Too long")], [0, true]);
  write("short");
  assert.deepEqual([sent, shown.hint.textContent], [["short"], ""]);
});

test("this computer's clipboard is shared at once where that was granted, else by a button", async () => {
  await open("granted", "local");
  assert.deepEqual([sent, shown.join.hidden], [["local"], true]);
  await open("prompt", "asked");
  assert.deepEqual([sent, shown.join.hidden], [[], false]);
  shown.join.click();
  await settled();
  assert.deepEqual([sent, shown.join.hidden], [["asked"], true]);
});

test("a browser that keeps its clipboard says where to paste", async () => {
  await open("refused");
  assert.match(shown.hint.textContent, /^The browser keeps its clipboard/);
});
