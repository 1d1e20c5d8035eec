// What differs between two policies, as a list.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { differenceList } = await import("/static/network/difference_list.js");

test("each line has its sign, by name for who hears it, and its text as it is", () => {
  const list = /** @type {any} */ (differenceList({ lines: [{ sign: "+", text: "allow <b>\u202ea" }, { sign: "−", text: "deny b" }], more: 3 }));
  assert.deepEqual(list.children.map(({ textContent }) => textContent), ["+ allow <b>⟨U+202E⟩a", "− deny b", "and 3 more"]);
  assert.deepEqual(list.querySelectorAll(".sign").map((sign) => sign.getAttribute("aria-label")), ["Added:", "Removed:"]);
});

test("no difference is said", () => {
  assert.equal(differenceList({ lines: [], more: 0 }).textContent, "No difference");
});
