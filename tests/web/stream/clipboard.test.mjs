// This computer's clipboard: what is read of a paste, and what is written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

openDocument();
globals({ ClipboardItem: class { constructor(types) { this.types = types; } } });
const { readPasted, writeClipboard } = await import("/static/stream/clipboard.js");

/** @param {Record<string, string>} texts @param {File[]} [files] @returns {any} */
const pasted = (texts, files = []) => ({ getData: (type) => texts[type] ?? "", files });
const text = (/** @type {Uint8Array} */ bytes) => new TextDecoder().decode(bytes);

test("text, HTML and a picture are read, other files are not", async () => {
  const files = [new File(["gif"], "a.gif", { type: "image/gif" }), new File(["png"], "a.png", { type: "image/png" })];
  const found = await readPasted(pasted({ "text/plain": "日本", "text/html": "<b>日本</b>", "text/rtf": "no" }, files));
  assert.deepEqual(Object.entries(found).map(([type, bytes]) => [type, text(bytes)]), [["text/plain", "日本"], ["text/html", "<b>日本</b>"], ["image/png", "png"]]);
});

test("nothing pasted is nothing", async () => {
  assert.deepEqual(await readPasted(null), {});
});

test("what is too long for a message is left out, and the text comes first", async () => {
  const limit = 1 << 22;
  const found = await readPasted(pasted({ "text/plain": "x".repeat(100), "text/html": "x".repeat(limit) }, [new File(["png"], "", { type: "image/png" })]));
  assert.deepEqual(Object.keys(found), ["text/plain", "image/png"]);
  assert.deepEqual(Object.keys(await readPasted(pasted({ "text/plain": "x".repeat(limit) }))), ["text/plain"]);
});

test("what was copied is written as text alone, or with all that it has", async () => {
  const written = [];
  globals({ navigator: { clipboard: { writeText: async (given) => void written.push(given), write: async ([item]) => void written.push(Object.keys(item.types)) } } });
  assert.equal(await writeClipboard({ text: "plain" }), true);
  assert.equal(await writeClipboard({ text: "rich", html: "<b>rich</b>", png: new Blob() }), true);
  assert.deepEqual(written, ["plain", ["text/plain", "text/html", "image/png"]]);
});

test("a browser that refuses, has no clipboard or has the focus elsewhere keeps what it had", async () => {
  globals({ navigator: { clipboard: { writeText: () => Promise.reject(new Error()) } } });
  assert.equal(await writeClipboard({ text: "x" }), false);
  globals({ navigator: {} });
  assert.equal(await writeClipboard({ text: "x" }), false);
  globals({ navigator: { clipboard: { writeText: () => assert.fail("it has no focus") } } });
  Object.assign(document, { hasFocus: () => false });
  assert.equal(await writeClipboard({ text: "x" }), false);
});
