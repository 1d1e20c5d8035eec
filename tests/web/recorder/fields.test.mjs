// Fields of events as text, whatever a record holds.

import assert from "node:assert/strict";
import { test } from "node:test";

import { entryOf, fields, listed, number, printable, shortText, shortUrl } from "/static/recorder/fields.js";

test("a text is one line of bounded length", () => {
  assert.equal(shortText("ls -la"), "ls -la");
  assert.equal(shortText("one\ntwo"), "one …");
  assert.equal(shortText("x".repeat(200)).length, 80);
  assert.equal(shortText("x".repeat(1e7), 10), `${"x".repeat(9)}…`);
  assert.deepEqual([shortText(7), shortText(true)], ["7", "true"]);
});

test("what is no text is empty", () => {
  for (const odd of [null, undefined, {}, [], () => 1]) assert.equal(shortText(odd), "");
});

test("characters that turn or hide what follows are left out", () => {
  assert.equal(printable("a\u202eb\u200bc\u0007d\te\nf"), "abcd\te\nf");
});

test("numbers, objects and lists are only what they are", () => {
  assert.deepEqual([number(3), number(NaN), number("3")], [3, null, null]);
  assert.deepEqual([fields({ a: 1 }), fields(null), fields([1]), fields("a")], [{ a: 1 }, {}, {}, {}]);
  assert.deepEqual([listed([1]), listed("ab"), listed(undefined)], [[1], [], []]);
});

test("a table gives what it holds, and nothing that every object has", () => {
  const table = { a: 1 };
  assert.deepEqual(["a", "b", "constructor", "__proto__", 7, null].map((name) => entryOf(table, name)), [1, undefined, undefined, undefined, undefined, undefined]);
});

test("an address is told by host and path", () => {
  assert.equal(shortUrl("https://acme.example/login?next=…"), "acme.example/login?next=…");
  assert.equal(shortUrl("https://acme.example/"), "acme.example");
  assert.deepEqual([shortUrl("about:blank"), shortUrl("data:…"), shortUrl(null)], ["about:blank", "data:…", ""]);
});
