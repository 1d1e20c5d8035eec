// A list of names and states.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { StatusList } = await import("/static/home/status_list.js");

/** @type {any} */
let element;
/** @type {any} */
let list;

beforeEach(() => {
  element = document.createElement("ul");
  list = new StatusList(element);
});

test("each row has a name, a state with its tone, and a hint", () => {
  list.show([{ name: "code server", state: "ready", tone: "good", detail: "pid 7" }, { name: "box", state: "lost", tone: "bad", hint: "add --security-opt" }]);
  const [first, second] = element.children;
  assert.deepEqual(first.children.map(({ textContent, className, title }) => [textContent, className, title]), [["code server", "", ""], ["ready", "state good", "pid 7"]]);
  assert.equal(second.querySelector("small").textContent, "add --security-opt");
});

test("a failure stands in place of the rows", () => {
  list.show([{ name: "a", state: "ready", tone: "good" }]);
  list.fail("the sandbox does not answer");
  assert.deepEqual(element.children.map(({ textContent }) => textContent), ["the sandbox does not answer"]);
});

test("a row that stays the same is not drawn again", () => {
  const rows = [{ name: "a", state: "ready", tone: "good" }];
  list.show(rows);
  const [first] = element.children;
  list.show([{ ...rows[0] }]);
  assert.equal(element.children[0], first);
});
