// The links to the pages.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { showNavigation } = await import("/static/bar/navigation.js");

/** @param {string} current @param {string[]} scopes */
function shown(current, scopes) {
  const place = /** @type {any} */ (document.createElement("nav"));
  showNavigation(place, current, scopes);
  return place;
}

test("everybody gets the pages that their scopes open, in one order", () => {
  const names = (scopes) => shown("", scopes).children.map(({ textContent, href }) => [textContent, href]);
  assert.deepEqual(names(["view", "shell", "files", "admin"]), [["Home", "/"], ["Live", "/view"], ["Terminal", "/terminal"], ["Files", "/files"], ["Recorder", "/recorder"], ["API", "/v1/docs"]]);
  assert.deepEqual(names(["view"]).map(([name]) => name), ["Home", "Live", "API"]);
});

test("the page that is shown is marked", () => {
  const place = shown("live", ["view"]);
  assert.deepEqual(place.children.map((link) => link.getAttribute("aria-current")), [null, "page", null]);
  assert.equal(place.getAttribute("aria-label"), "Pages");
});
