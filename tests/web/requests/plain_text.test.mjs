// The agent's words as text that can only be read.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hostOf, plainLine, plainText } from "/static/requests/plain_text.js";

test("what turns the direction of writing or is invisible is no part of it", () => {
  assert.equal(plainText("Pay \u202e09.21\u202c now\u200b\u0007", 100), "Pay  09.21  now");
  assert.equal(plainText("a\u2066b\u2069\u061c\ufeff", 100), "a b");
  assert.equal(plainText("two\nlines", 100), "two\nlines");
});

test("scripts and emoji that need joiners stay whole", () => {
  assert.equal(plainText("👩‍💻 می‌خواهم 日本語", 100), "👩‍💻 می‌خواهم 日本語");
});

test("marks do not stack beyond the line", () => {
  assert.equal(plainText(`Z${"\u0301".repeat(500)}`, 1000), `Z${"\u0301".repeat(4)}`);
});

test("it ends at its limit, however long it is", () => {
  assert.equal(plainText("x".repeat(10_000), 400), `${"x".repeat(400)}…`);
  assert.equal([...plainText("😀".repeat(10_000), 10)].length, 11);
});

test("a line is one line", () => {
  assert.equal(plainLine("Take\n\n   control\t", 100), "Take control");
  assert.equal(plainLine(" ".repeat(10_000), 100), "");
});

test("an origin is named by its host, and by its scheme where it is not encrypted", () => {
  assert.equal(hostOf("https://acme.example"), "acme.example");
  assert.equal(hostOf("http://acme.example:8080"), "http://acme.example:8080");
  assert.equal(hostOf("https://bank.example@evil.example"), "evil.example");
  assert.equal(hostOf("https://b\u0430nk.example"), "xn--bnk-6cd.example");
  assert.deepEqual([hostOf(null), hostOf("nonsense")], ["", "nonsense"]);
});
