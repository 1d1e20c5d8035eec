// The badge of the page's title.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

openDocument();
/** @type {() => void} */
let changed = () => {};
globals({ MutationObserver: class { constructor(act) { changed = act; } observe() {} } });
Object.assign(document, { head: document.createElement("head"), title: "Live · Tandem" });
const { TitleBadge } = await import("/static/bar/title_badge.js");

test("the title says how many requests are open, whatever the page calls itself", () => {
  const badge = new TitleBadge();
  badge.show(2);
  assert.equal(document.title, "(2) Live · Tandem");
  document.title = "You drive · Tandem";
  changed();
  assert.equal(document.title, "(2) You drive · Tandem");
  badge.show(0);
  assert.equal(document.title, "You drive · Tandem");
});
