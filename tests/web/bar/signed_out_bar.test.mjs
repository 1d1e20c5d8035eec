// The bar of pages for whom nobody is signed in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
const { SignedOutBar } = await import("/static/bar/signed_out_bar.js");

test("it has the product, the language, the theme and the shortcuts, and asks the server for nothing", () => {
  const bar = /** @type {any} */ (document.createElement("tandem-signed-out-bar"));
  assert.ok(bar instanceof SignedOutBar);
  body.append(bar);
  bar.connectedCallback();
  assert.equal(bar.querySelector(".brand").href, "/");
  assert.deepEqual(bar.querySelectorAll("button").map((button) => button.dataset.chooses), ["language", "theme", "shortcuts"]);
});
