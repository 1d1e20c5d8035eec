// The menu of one entry.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
globals({ innerHeight: 600 });
const { RowMenu } = await import("/static/files/row_menu.js");

/** @type {any} */
let place;
/** @type {any[]} */
let done;
/** @type {any} */
let menu;

beforeEach(() => {
  body.replaceChildren();
  place = parts(body, { menu: "div" }).menu;
  done = [];
  menu = new RowMenu(place, { rename: (entry) => done.push(["rename", entry.name]), remove: (entry) => done.push(["remove", entry.name]) });
});

/** @param {object} entry @param {object} [at] */
const show = (entry, at = { left: 80, right: 300, top: 100, bottom: 120 }) => menu.show({ name: "a.txt", path: "/d/a.txt", is_directory: false, ...entry }, { getBoundingClientRect: () => at });
const items = () => place.children.map(({ textContent }) => textContent);

test("a file can be opened, downloaded, renamed and deleted, a folder not downloaded", () => {
  show({});
  assert.deepEqual(items(), ["Open", "Download", "Rename", "Delete"]);
  assert.deepEqual(place.children.slice(0, 2).map(({ href }) => href), ["#path=/d&open=a.txt", "/v1/file/download?path=%2Fd%2Fa.txt"]);
  assert.equal(place.getAttribute("aria-label"), "Actions: a.txt");
  show({ is_directory: true });
  assert.deepEqual([items(), place.children[0].href], [["Open", "Rename", "Delete"], "#path=/d/a.txt"]);
});

test("an item acts on its entry", () => {
  show({});
  place.children[2].click();
  place.children[3].click();
  assert.deepEqual(done, [["rename", "a.txt"], ["remove", "a.txt"]]);
});

test("it stays in the window", () => {
  place.box = { width: 200, height: 150 };
  show({}, { right: 100, top: 560, bottom: 590 });
  assert.deepEqual([place.style.left, place.style.top], ["8px", "410px"]);
  show({}, { right: 500, top: 100, bottom: 120 });
  assert.deepEqual([place.style.left, place.style.top], ["300px", "120px"]);
});
