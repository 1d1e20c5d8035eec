// The comparison of a checkpoint with another state.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";
import { checkpoint, entry, FIRST, RESTORE, RISK } from "./kept.mjs";

openDocument();
location.search = "?lang=en";
const { Comparison, inOrder } = await import("/static/checkpoints/comparison.js");
const ALL = [FIRST, RISK, RESTORE];

test("it begins with the files as they are now, and compares with what is chosen", async () => {
  const asked = answering(() => ({ entries: [entry("x", { change: "added", added: 1, after: 7 })], more: false, truncated: false }));
  const place = /** @type {any} */ (new Comparison(RISK.id, ALL).element);
  await settled();
  assert.match(asked[0].path, /^\/v1\/checkpoints\/current\/tree\?against=bbbbbbbb&/);
  assert.equal(place.querySelector(".between").textContent, "From “Before file.delete_file” to “Files now”:");
  assert.match(place.textContent, /1 added.*7 B/);
  const select = place.querySelector("select");
  assert.deepEqual(select.children.map(({ value }) => value), ["current", "cccccccc", "aaaaaaaa", "image"]);
  select.value = "aaaaaaaa";
  select.onchange();
  await settled();
  assert.match(asked[1].path, /^\/v1\/checkpoints\/bbbbbbbb\/tree\?against=aaaaaaaa&/);
  assert.equal(place.querySelector(".between").textContent, "From “before the upgrade” to “Before file.delete_file”:");
});

test("the image is compared with everything else, and the choices are bounded", () => {
  answering(() => ({ entries: [], more: false, truncated: false }));
  const many = Array.from({ length: 80 }, (_, n) => checkpoint(`id${n}`));
  const select = /** @type {any} */ (new Comparison("image", many).element).querySelector("select");
  assert.deepEqual([select.children.length, select.children[1].value], [51, "id79"]);
});

test("the older state comes first", () => {
  assert.deepEqual(inOrder("current", FIRST.id, ALL), { older: FIRST.id, newer: "current" });
  assert.deepEqual(inOrder(RESTORE.id, "image", ALL), { older: "image", newer: RESTORE.id });
});
