// Style sheets that a module brings along.

import assert from "node:assert/strict";
import { test } from "node:test";

import { El, openDocument } from "./browser/dom.mjs";

openDocument();
const { loadStyle } = await import("/static/style_sheet.js");

test("a style sheet is loaded once", () => {
  const head = new El("head");
  Object.assign(document, { head, querySelector: (/** @type {string} */ selector) => head.querySelector(selector) });
  loadStyle("/static/a.css");
  loadStyle("/static/a.css");
  loadStyle("/static/b.css");
  assert.deepEqual(head.children.map(({ href }) => href), ["/static/a.css", "/static/b.css"]);
});
