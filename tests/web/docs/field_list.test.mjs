// The list of fields: types, rules, defaults, and the fields inside them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { fieldList } = await import("/static/docs/field_list.js");

/** @param {object} changes @returns {any} */
const field = (changes) => ({ name: "command", place: "body", required: false, type: "string", description: "", initial: null, choices: null, schema: {}, inner: [], ...changes });
/** @param {any[]} fields @param {boolean} asked */
const lines = (fields, asked = true) => fieldList(fields, { asked }).children.map(({ textContent }) => textContent);

test("a field has a name, a type and its description", () => {
  assert.deepEqual(lines([field({ description: "What to run." })]), ["command", "stringWhat to run."]);
});

test("that a field is required, where it goes and its default matter for a request alone", () => {
  const fields = [field({ required: true, place: "query", initial: 5, type: "integer" })];
  assert.deepEqual(lines(fields), ["command required", "integer in the querydefault 5"]);
  assert.deepEqual(lines(fields, false), ["command", "integer"]);
});

test("choices stand in place of the type", () => {
  assert.deepEqual(lines([field({ choices: ["png", "webp", 1] })])[1], '"png" | "webp" | 1');
});

test("limits are told in words", () => {
  const [, text] = lines([field({ type: "integer", schema: { minimum: 1, maximum: 10, exclusiveMinimum: 0, pattern: "^a$" } })]);
  assert.equal(text, "integerat least 1 · more than 0 · at most 10 · matches ^a$");
});

test("fields inside a field are folded below it", () => {
  const list = fieldList([field({ type: "object", inner: [field({ name: "x" }), field({ name: "y" })] })], { asked: true });
  const details = list.querySelector("details");
  assert.equal(details.querySelector("summary").textContent, "2 fields");
  assert.deepEqual(details.querySelectorAll("dt").map(({ textContent }) => textContent), ["x", "y"]);
});
