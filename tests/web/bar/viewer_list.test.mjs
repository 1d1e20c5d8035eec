// The list of viewers.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";
import { control } from "./control.mjs";

const body = openDocument();
const { mayInvite, ViewerList } = await import("/static/bar/viewer_list.js");

const VIEWERS = [
  { name: "ann#1234", role: "control", you: true },
  { name: "bob#5678", role: "view", you: false },
  { name: "key", role: "agent", you: false },
];

/** @type {any} */
let shown;
/** @type {any} */
let list;
/** @type {Error[]} */
let failures = [];

beforeEach(() => {
  body.replaceChildren();
  failures = [];
  shown = parts(body, { list: "ul" });
  list = new ViewerList(shown.list, (error) => failures.push(error));
});

test("each viewer has a name and a role, and whoever drives is marked", () => {
  list.show(control({ viewers: VIEWERS, holder: "bob#5678" }));
  assert.deepEqual(shown.list.children.map(({ children }) => children.map((part) => part.textContent)), [
    ["ann · 1234 (you)", "Can control"],
    ["bob · 5678", "Can watch · drives now"],
    ["key", "Agent"],
  ]);
});

test("an admin signs out another person's session, and nobody else does", () => {
  const asked = answering(() => null);
  list.show(control({ viewers: VIEWERS, you: { role: "admin" } }));
  const buttons = shown.list.querySelectorAll("button");
  assert.deepEqual(buttons.map((button) => button.getAttribute("aria-label")), ["Disconnect: bob · 5678"]);
  buttons[0].click();
  assert.deepEqual(asked.map(({ method, path }) => [method, path]), [["DELETE", "/v1/sessions/bob%235678"]]);
});

test("a list that is the same is not drawn again, so that the focus stays", () => {
  list.show(control({ viewers: VIEWERS }));
  const first = shown.list.firstElementChild;
  list.show(control({ viewers: VIEWERS, epoch: 2 }));
  assert.equal(shown.list.firstElementChild, first);
  list.show(control({ viewers: VIEWERS.slice(1) }));
  assert.equal(shown.list.childElementCount, 2);
});

test("only a person who may control can invite", () => {
  const may = (you) => mayInvite(control({ you }).you);
  assert.deepEqual([may({}), may({ role: "view" }), may({ person: false })], [true, false, false]);
});
