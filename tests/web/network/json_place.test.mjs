// Where a JSON pointer points to.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { JsonSyntaxError, lineOf, placeOf, placesOf } = await import("/static/network/json_place.js");

const TEXT = '{\n  "default": "deny",\n  "rules": [\n    {"action": "allow", "a/b~c": 1, "ports": [443, -1.5e3]},\n    {}\n  ], "é\\u0022": null\n}\n';

/** @param {string} pointer */
const at = (pointer) => {
  const { start, end } = placeOf(TEXT, pointer);
  return TEXT.slice(start, end);
};

test("a pointer leads to a value, with its name where it has one", () => {
  assert.equal(at("/default"), '"default": "deny"');
  assert.equal(at("/rules/0/ports/1"), "-1.5e3");
  assert.equal(at("/rules/0/a~1b~0c"), '"a/b~c": 1');
  assert.equal(at('/é"'), '"é\\u0022": null');
  assert.equal(at("/rules/1"), "{}");
  assert.equal(at(""), TEXT, "all of it");
});

test("what is not there leads to what is nearest around it", () => {
  assert.equal(at("/rules/1/hosts/3"), "{}");
  assert.equal(at("/mode"), TEXT);
});

test("what is no JSON says where", () => {
  for (const [text, where] of /** @type {[string, number][]} */ ([["", 0], ["{", 1], ['{"a" 1}', 5], ["[1,]", 3], ["[1 2]", 3], ["nul", 0], ['"a\nb"', 0], ["{} x", 3], ["[01]", 2], ["{'a': 1}", 1], ["[".repeat(200), 65]])) {
    assert.throws(() => placesOf(text), (error) => error instanceof JsonSyntaxError && error.at === where, text);
    assert.deepEqual(placeOf(text, "/a"), { start: 0, end: text.length });
  }
});

test("it accepts what JSON.parse does", () => {
  for (const text of ["0", "-0.5E-2", '"\\ud83d\\/"', "[]", " [ true , false , null ] ", '{"a":{"a":[]}}']) {
    JSON.parse(text);
    assert.ok(placesOf(text).has(""));
  }
});

test("a line is counted from one", () => {
  assert.deepEqual([lineOf(TEXT, 0), lineOf(TEXT, placeOf(TEXT, "/rules/0").start)], [1, 4]);
});
