// The editor of the policy.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { POLICY, state } from "./connections.mjs";

const body = openDocument();
const { PolicyEditor, syntaxProblem } = await import("/static/network/policy_editor.js");

const OTHER = { ...POLICY, default: "allow" };
/** @type {any} */
let editor;
/** @type {any[]} */
let saved = [];
/** @type {number[][]} */
let selected = [];

beforeEach(() => {
  saved = [];
  selected = [];
  editor = new PolicyEditor((now) => saved.push(now.etag));
  editor.text.setSelectionRange = (...range) => selected.push(range);
  body.replaceChildren(editor.element);
  editor.show(state());
});

/** @param {string} text */
function write(text) {
  editor.text.value = text;
  editor.text.oninput();
}

/** @param {string} text */
async function press(text) {
  editor.element.querySelectorAll("button").find(({ textContent }) => textContent === text).click();
  await settled();
}

test("it shows the policy, and saves what was changed against it", async () => {
  assert.deepEqual(JSON.parse(editor.text.value), POLICY);
  assert.deepEqual([editor.save.disabled, editor.isDirty], [true, false]);
  write(JSON.stringify(OTHER));
  assert.deepEqual([editor.save.disabled, editor.isDirty], [false, true]);
  /** @type {any[]} */
  const put = [];
  answering((method, _path, sent, headers) => (put.push([method, sent, headers["If-Match"]]), { ...state(OTHER, '"2"'), cut: 2 }));
  await press("Save");
  assert.deepEqual(put, [["PUT", OTHER, '"1"']]);
  assert.deepEqual([editor.said.textContent, saved, editor.isDirty], ["Saved. 2 connections were cut.", ['"2"'], false]);
});

test("what is written while a policy is saved stays, and can be saved after it", async () => {
  /** @type {(state: any) => void} */
  let letGo = () => {};
  write(JSON.stringify(OTHER));
  answering(() => new Promise((resolve) => (letGo = resolve)));
  await press("Save");
  write("{}");
  assert.equal(editor.save.disabled, true);
  letGo(state(OTHER, '"2"'));
  await settled();
  assert.deepEqual([editor.text.value, editor.isDirty, editor.save.disabled, saved], ["{}", true, false, ['"2"']]);
  /** @type {any[]} */
  const put = [];
  answering((_method, _path, sent, headers) => (put.push([sent, headers["If-Match"]]), state({}, '"3"')));
  await press("Save");
  assert.deepEqual([put, saved], [[[{}, '"2"']], ['"2"', '"3"']]);
});

test("what is no JSON is not sent, and the place is shown", async () => {
  const asked = answering(() => null);
  write('{\n  "default": deny\n}');
  await press("Save");
  assert.deepEqual([asked.length, selected, editor.problems.textContent], [0, [[15, 16]], "Line 2 this is not JSON"]);
  assert.equal(editor.text.getAttribute("aria-invalid"), "true");
  assert.equal(syntaxProblem("{}"), undefined);
});

test("errors are placed by their pointers, and the text stays", async () => {
  const text = '{\n  "default": "deny",\n  "rules": [\n    {"action": "allow", "ports": ["x"]}\n  ]\n}';
  write(text);
  answering(() => Response.json({ detail: [{ pointer: "/rules/0/ports/0", msg: "must be a port" }, { pointer: "/rules/0", msg: "names no host" }] }, { status: 422 }));
  await press("Save");
  assert.deepEqual(editor.problems.children.map(({ textContent }) => textContent), ["Line 4 /rules/0/ports/0: must be a port", "Line 4 /rules/0: names no host"]);
  const [[start, end]] = selected;
  assert.equal(text.slice(start, end), '"x"');
  assert.deepEqual([editor.text.value, editor.said.textContent, saved], [text, "Not saved: 2 errors. The policy of before stands.", []]);
  editor.problems.querySelectorAll("button")[1].click();
  assert.equal(text.slice(...selected[1]), '{"action": "allow", "ports": ["x"]}');
});

test("what somebody else changed meanwhile is told, and nothing that was written is lost", async () => {
  write(JSON.stringify({ ...POLICY, mode: "learn" }));
  answering((method) => (method === "PUT" ? refusing(412, "stale") : state(OTHER, '"2"')));
  await press("Save");
  assert.equal(editor.conflict.hidden, false);
  assert.deepEqual(editor.conflict.querySelectorAll("li").map(({ textContent }) => textContent), ["± default: deny → allow"]);
  assert.equal(JSON.parse(editor.text.value).mode, "learn");
  /** @type {any[]} */
  const put = [];
  answering((_method, _path, _sent, headers) => (put.push(headers["If-Match"]), state({ ...POLICY, mode: "learn" }, '"3"')));
  await press("Save mine instead");
  assert.deepEqual([put, saved, editor.conflict.hidden], [['"2"'], ['"3"'], true]);
});

test("the other's can be taken instead", async () => {
  write("{}");
  editor.show(state(OTHER, '"2"'));
  assert.deepEqual([editor.text.value, editor.conflict.hidden], ["{}", false]);
  await press("Take theirs");
  assert.deepEqual([JSON.parse(editor.text.value), editor.conflict.hidden, editor.isDirty], [OTHER, true, false]);
});

test("a new policy is shown where nothing was written, and changes can be discarded", async () => {
  editor.show(state(OTHER, '"2"'));
  assert.deepEqual(JSON.parse(editor.text.value), OTHER);
  write("{}");
  await press("Discard changes");
  assert.deepEqual(JSON.parse(editor.text.value), OTHER);
});

test("what fails is told, and can be tried again", async () => {
  write("{}");
  answering(() => refusing(503, "the egress process does not answer"));
  await press("Save");
  assert.deepEqual([editor.said.textContent, editor.save.disabled, editor.text.value], ["That did not work: the egress process does not answer", false, "{}"]);
});
