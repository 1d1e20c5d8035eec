// The bar's elements.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
const { BAR, brand } = await import("/static/bar/markup.js");
const { translate } = await import("/static/bar/strings.js");

test("the brand leads home", () => {
  body.innerHTML = brand();
  assert.equal(body.querySelector("a").href, "/");
});

test("every string that the bar names is there", () => {
  body.innerHTML = BAR;
  for (const element of body.querySelectorAll("[data-says]")) assert.ok(translate(element.dataset.says), element.dataset.says);
  for (const element of body.querySelectorAll("[data-says-aria-label]")) assert.ok(translate(element.getAttribute("data-says-aria-label")));
});
