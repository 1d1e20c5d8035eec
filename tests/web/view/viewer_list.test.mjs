// The list of viewers, and invitations.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { control } from "./control.mjs";

const body = openDocument();
globals({ FormData: class { constructor(form) { this.get = (name) => form.wish[name]; } }, navigator: { language: "en" } });
const { ViewerList } = await import("/static/view/viewer_list.js");

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
  shown = parts(body, { list: "ul", form: "form", copy: "button" });
  const line = document.createElement("p");
  line.hidden = true;
  shown.link = document.createElement("input");
  line.append(shown.link);
  shown.form.append(line);
  list = new ViewerList(shown, (error) => failures.push(error));
});

test("each viewer has a name and a role, and whoever drives is marked", () => {
  list.show(control({ viewers: VIEWERS, holder: "bob#5678" }));
  assert.deepEqual(shown.list.children.map(({ children }) => children.map((part) => part.textContent)), [
    ["ann · 1234 (you)", "Sees and drives"],
    ["bob · 5678", "Sees · drives now"],
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
  const hidden = (you) => (list.show(control({ you })), shown.form.hidden);
  assert.deepEqual([hidden({}), hidden({ role: "view" }), hidden({ person: false })], [false, true, true]);
});

test("an invitation is a ticket with the role's scopes, as a link to the page", async () => {
  const asked = answering(() => Response.json({ ticket: "t0" }));
  shown.form.wish = { role: "view", minutes: "10", uses: "5" };
  shown.form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
  assert.deepEqual(asked[0].body, { actor: "person", scopes: ["view"], ttl: 600, uses: 5 });
  assert.equal(shown.link.value, "http://box.test:8080/view?ticket=t0");
  assert.equal(shown.link.parentElement.hidden, false);
});

test("a refused invitation is told", async () => {
  answering(() => refusing(403, "not yours to give"));
  shown.form.wish = { role: "control", minutes: "60", uses: "1" };
  shown.form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
  assert.deepEqual(failures.map(({ message }) => message), ["not yours to give"]);
});
