// The table of a folder's entries.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { FileTable } = await import("/static/files/file_table.js");

/** @type {any} */
let place;
/** @type {any[]} */
let done;
/** @type {any} */
let table;

beforeEach(() => {
  body.innerHTML = "<section><button></button><table><thead><tr></tr></thead><tbody></tbody></table></section>";
  place = body.firstElementChild;
  done = [];
  table = new FileTable(place, { menu: (entry) => done.push(entry.name), more: () => done.push("more") });
});

/** @param {string} name @param {object} [more] */
const entry = (name, more) => ({ name, path: `/d/${name}`, is_directory: false, size: 1, modified_time: null, ...more });
const rows = () => place.querySelector("tbody").children;
const names = () => rows().map((row) => row.querySelector("bdi").textContent);

test("an entry is text, with what it leads to and what it is", () => {
  table.show([entry("<b>a"), entry("sub", { is_directory: true, is_symlink: true })]);
  assert.deepEqual(names(), ["sub", "<b>a"]);
  assert.deepEqual(rows().map((row) => row.querySelector("a").href), ["#path=/d/sub", "#path=/d&open=%3Cb%3Ea"]);
  assert.deepEqual(rows().map((row) => row.querySelector(".badge")?.textContent), ["link", undefined]);
  rows()[1].querySelector("button").click();
  assert.deepEqual(done, ["<b>a"]);
});

test("many entries are drawn a part at a time, and then those that are elsewhere are got", () => {
  table.show(Array.from({ length: 700 }, (_, index) => entry(`f${index}`)), { elsewhere: 5 });
  assert.deepEqual([rows().length, table.button.textContent], [500, "Show more (205 left)"]);
  table.button.click();
  assert.deepEqual([done, rows().length], [["more"], 500]);
  table.show(Array.from({ length: 705 }, (_, index) => entry(`f${index}`)), { again: true });
  assert.deepEqual([rows().length, table.button.hidden], [705, true]);
});

test("a column sorts, and again the other way", () => {
  table.show([entry("a", { size: 1 }), entry("b", { size: 9 })]);
  const size = () => place.querySelector("th.size");
  size().firstElementChild.click();
  assert.deepEqual([names(), size().getAttribute("aria-sort"), document.activeElement === size().firstElementChild], [["b", "a"], "descending", true]);
  size().firstElementChild.click();
  assert.deepEqual([names(), size().getAttribute("aria-sort")], [["a", "b"], "ascending"]);
});

test("a row that has the focus keeps it, and the open one its mark", () => {
  table.show([entry("a"), entry("b")]);
  table.mark("/d/b");
  rows()[1].querySelector("button").focus();
  table.show([entry("a"), entry("b", { size: 7 })], { again: true });
  assert.equal(document.activeElement, rows()[1].querySelector("button"));
  assert.deepEqual(rows().map((row) => row.hasAttribute("data-open")), [false, true]);
});

test("what a search found is shown with its way from the folder", () => {
  table.show([entry("deep/x", { name: "x" })], { below: "/d" });
  assert.deepEqual(names(), ["deep/x"]);
});
