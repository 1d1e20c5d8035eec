// Uploads.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";

const body = openDocument();
location.search = "?lang=en";
const { Uploads } = await import("/static/files/uploads.js");

/** What is there, by path. @type {Record<string, string>} */
let there;
/** Where uploads went. @type {string[]} */
let sent;
/** @type {any} */
let answer;
/** What was asked. @type {any[]} */
let questions;
/** @type {any} */
let place;
/** @type {any} */
let uploads;
let status = 200;

globals({
  setTimeout: () => 0,
  XMLHttpRequest: class {
    upload = {};
    open() {}
    abort() {}
    send(/** @type {FormData} */ form) {
      sent.push(String(form.get("path")));
      Object.assign(this, { status, response: { success: status === 200, message: "no" } });
      /** @type {any} */ (this).onload();
    }
  },
});

beforeEach(() => {
  body.replaceChildren();
  place = parts(body, { uploads: "ul" }).uploads;
  [there, sent, answer, questions, status] = [{}, [], undefined, [], 200];
  answering((_, __, { path }) => (path in there ? { type: there[path] } : Response.json({ success: false, data: { error_type: "not_found" } })));
  uploads = new Uploads(place, { ask: async (asked) => (questions.push(asked), answer) }, () => {});
});

/** @param {string[]} names */
const add = (...names) => uploads.add(names.map((name) => new File(["x"], name)), "/d");
const texts = () => place.children.map((row) => row.firstElementChild.textContent);

test("files go up one after the other, and each is told", async () => {
  await add("a", "b\u202e");
  assert.deepEqual([sent, texts()], [["/d/a", "/d/b\u202e"], ["a is uploaded.", "b\u{fffd} is uploaded."]]);
});

test("a name that is taken is asked about", async () => {
  there = { "/d/a.txt": "file", "/d/a (1).txt": "file" };
  await add("a.txt");
  assert.deepEqual([sent, texts(), questions[0].answers.map(([value]) => value)], [[], ["a.txt was skipped."], ["both", "replace"]]);
  answer = { answer: "both" };
  await add("a.txt");
  answer = { answer: "replace" };
  await add("a.txt");
  assert.deepEqual(sent, ["/d/a (2).txt", "/d/a.txt"]);
});

test("a file never takes a folder's place", async () => {
  there = { "/d/a": "directory" };
  await add("a");
  assert.deepEqual(questions[0].answers.map(([value]) => value), ["both"]);
});

test("a refusal is told in words, and stays", async () => {
  status = 413;
  await add("a");
  assert.deepEqual(texts(), ["a was not uploaded. It is larger than this sandbox takes."]);
});

test("what was stopped before its turn goes nowhere", async () => {
  const done = add("a");
  place.firstElementChild.querySelector("button").click();
  await done;
  assert.equal(sent.length, 0);
});

test("folders and too many files are refused", async () => {
  uploads.refuse(["sub"]);
  await add(...Array.from({ length: 201 }, (_, index) => `f${index}`));
  assert.equal(sent.length, 200);
  assert.match(texts()[0], /^sub is a folder/);
  assert.match(texts()[1], /^At most 200 files/);
});
