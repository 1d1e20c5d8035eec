// One checkpoint of the list.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";
import { control } from "../bar/control.mjs";
import { checkpoint, FIRST, RESTORE, RISK } from "./kept.mjs";

const body = openDocument();
location.search = "?lang=en";
const { CheckpointRow, rowId, rowsOf } = await import("/static/checkpoints/checkpoint_row.js");
const ALL = [FIRST, RISK, RESTORE];
/** @type {any[]} */
let restored = [];

beforeEach(() => {
  restored = [];
  answering((method, path) => {
    if (path.includes("/tree")) return { entries: [], more: false, truncated: false };
    return method === "POST" ? { kept: null, stopped: [] } : { stops: [], changed: false };
  });
});

/** @param {any} one @param {object} [rights] */
function row(one, rights = { make: true, look: true }) {
  const made = new CheckpointRow(rowId(one), { control: () => control(), changes: null, rights: /** @type {any} */ (rights), restored: (id, done) => restored.push([id, done]) });
  made.show(one, ALL, FIRST.id);
  body.replaceChildren(/** @type {any} */ (made.element));
  return { made, place: /** @type {any} */ (made.element), buttons: /** @type {any} */ (made.element).querySelectorAll(".tools button") };
}

test("it says what it is: name, who, how much, whether it was made by itself, where the files stand", () => {
  const { place } = row(FIRST);
  assert.deepEqual(place.querySelector(".head").children.map(({ textContent }) => textContent), ["before the upgrade", "Current"]);
  assert.match(place.querySelector("p").textContent, /· You · 2 files · 2\.0 KiB$/);
  assert.deepEqual(row(RISK).place.querySelector(".head").children.map(({ textContent }) => textContent), ["Before file.delete_file", "Automatic"]);
  assert.match(row(RESTORE).place.querySelector("p").textContent, /· Agent · key$/, "what is not counted yet is not told");
  assert.match(row(null).place.textContent, /^StartThe image, before anything was done/);
});

test("a hostile label is text of one line", () => {
  const { place } = row(checkpoint("e", { label: "<b>\n\u202e" }));
  assert.deepEqual([place.querySelector(".name").textContent, place.querySelector("b")], ["<b>\ufffd\ufffd", null]);
});

test("who may not act has no buttons for it", () => {
  assert.deepEqual(row(FIRST, { make: false, look: true }).buttons.map(({ textContent }) => textContent), ["Compare"]);
  assert.equal(row(FIRST, { make: false, look: false }).buttons.length, 0);
});

test("its buttons say of which checkpoint they are, and open and close what is below", async () => {
  const { place, buttons: [back, compare] } = row(FIRST);
  assert.deepEqual([back.getAttribute("aria-label"), compare.getAttribute("aria-label")], ["Go back… before the upgrade", "Compare before the upgrade"]);
  compare.click();
  assert.deepEqual([compare.getAttribute("aria-expanded"), back.getAttribute("aria-expanded"), place.querySelectorAll(".comparison").length], ["true", "false", 1]);
  back.click();
  assert.deepEqual([place.querySelectorAll(".comparison").length, place.querySelectorAll(".plan").length, compare.getAttribute("aria-expanded")], [0, 1, "false"]);
  await settled();
  place.querySelector(".plan").querySelectorAll(".tools button")[1].click();
  assert.deepEqual([place.querySelector(".plan"), document.activeElement], [null, back]);
});

test("going back closes it and tells the list", async () => {
  const { made, place } = row(FIRST);
  made.ask();
  made.ask();
  await settled();
  place.querySelector(".plan").querySelectorAll(".tools button")[0].click();
  await settled();
  assert.deepEqual([restored, place.querySelector(".plan")], [[[FIRST.id, { kept: null, stopped: [] }]], null]);
});

test("the newest is first, and the image last", () => {
  assert.deepEqual(rowsOf(ALL).map(rowId), [RESTORE.id, RISK.id, FIRST.id, "image"]);
});
