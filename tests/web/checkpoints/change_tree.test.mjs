// The tree of what differs.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { entry } from "./kept.mjs";

openDocument();
location.search = "?lang=en";
const { ChangeTree } = await import("/static/checkpoints/change_tree.js");
const { ApiError } = await import("/static/api.js");

/** @type {[string, string | undefined][]} */
let asked = [];

/** @param {Record<string, any[]>} folders by path @param {object} [options] @param {object} [more] @returns {Promise<any>} */
async function opened(folders, options = {}, more = {}) {
  asked = [];
  const read = async (/** @type {string} */ under, /** @type {string | undefined} */ after) => {
    asked.push([under, after]);
    const found = folders[after ? `${under} ${after}` : under];
    if (!found) throw new ApiError(404, "no checkpoint");
    return { entries: found, more: false, truncated: false, ...more };
  };
  const tree = new ChangeTree({ older: "image", newer: "current" }, { read, ...options });
  await tree.open();
  await settled();
  return tree.element;
}

const lines = (/** @type {any} */ tree) => tree.querySelectorAll(".line").map((line) => line.children.map(({ textContent }) => textContent));

const FOLDERS = {
  "/": [
    entry("gone", { change: "deleted", deleted: 1, before: 3072 }),
    entry("home", { added: 1, changed: 1, before: 10, after: 2000 }),
    entry("new", { change: "added", added: 1, after: 5 }),
    entry("same", { change: "changed", changed: 1, before: 4, after: 4 }),
  ],
  "/home": [entry("gem", { change: "changed", changed: 1, before: 10, after: 12 }), entry("x", { change: "added", added: 1, after: 1988 })],
};

test("names have what happened to them and their sizes; folders are folded", async () => {
  const tree = await opened(FOLDERS);
  assert.deepEqual(lines(tree), [
    ["gone", "deleted", "3.0 KiB"],
    ["home/", "1 added, 1 changed", "10 B → 2.0 KiB"],
    ["new", "added", "5 B"],
    ["same", "changed", "4 B"],
  ]);
  assert.equal(tree.querySelector("p").textContent, "2 added, 2 changed, 1 deleted.");
  assert.deepEqual(asked, [["/", undefined]]);
});

test("of going back it says what becomes of the files", async () => {
  const tree = await opened(FOLDERS, { back: true });
  assert.deepEqual(lines(tree).map(([, word, size]) => [word, size]), [["comes back", "3.0 KiB"], ["1 will be removed, 1 will change back", "2.0 KiB → 10 B"], ["is removed", "5 B"], ["changes back", "4 B"]]);
});

test("a folder is read when it is opened, once, and folds again", async () => {
  const tree = await opened(FOLDERS);
  const fold = tree.querySelector("button");
  fold.click();
  await settled();
  assert.deepEqual(asked.at(-1), ["/home", undefined]);
  assert.equal(lines(tree).length, 6);
  fold.click();
  assert.deepEqual([fold.getAttribute("aria-expanded"), fold.nextElementSibling.hidden], ["false", true]);
  fold.click();
  assert.deepEqual([fold.nextElementSibling.hidden, asked.length], [false, 2]);
});

test("folders that hold one folder alone open by themselves, to a depth", async () => {
  /** @type {Record<string, any[]>} */
  const deep = {};
  for (let depth = 0, path = "/"; depth < 20; depth++, path = `${path === "/" ? "" : path}/d`) deep[path] = [entry("d", { added: 1 })];
  await opened(deep);
  assert.equal(asked.length, 9);
});

test("what does not fit is told, and more names come when asked for", async () => {
  const many = Array.from({ length: 1500 }, (_, n) => entry(`f${n}`, { change: "added", added: 1 }));
  const full = await opened({ "/": many });
  assert.deepEqual([lines(full).length, full.querySelector("ul").lastElementChild.textContent], [1000, "No more fits here."]);
  const paged = await opened({ "/": many.slice(0, 2), "/ f1": many.slice(2, 4) }, {}, { more: true, truncated: true });
  assert.match(paged.textContent, /More differs than can be compared/);
  paged.querySelector("button").click();
  await settled();
  assert.deepEqual([asked.at(-1), lines(paged).length], [["/", "f1"], 4]);
});

test("no difference, and a state that is gone, are told", async () => {
  assert.equal((await opened({ "/": [] })).textContent, "No differences.");
  const gone = await opened({});
  assert.deepEqual([gone.textContent, gone.querySelector("p").className], ["That checkpoint is gone.", "problem"]);
  const inside = await opened({ "/": [entry("a", { added: 3 }), entry("b", { added: 2 })] });
  inside.querySelector("button").click();
  await settled();
  assert.match(inside.textContent, /That checkpoint is gone\./);
});

test("a hostile name is one short line of text, and its path is asked for as it is", async () => {
  const evil = `<img src=x>\n\u202e${"a".repeat(300)}`;
  const tree = await opened({ "/": [entry(evil, { added: 2 }), entry("b", { change: "added", added: 1 })], [`/${evil}`]: [] });
  const [[shown]] = lines(tree);
  assert.equal(shown.length, 121);
  assert.match(shown, /^<img src=x>\ufffd\ufffda+…\/$/);
  tree.querySelector("button").click();
  await settled();
  assert.deepEqual(asked.at(-1), [`/${evil}`, undefined]);
});
