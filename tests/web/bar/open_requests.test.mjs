// The agent's requests in the bar.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { control } from "./control.mjs";

const body = openDocument();
const { asks, OpenRequests } = await import("/static/bar/open_requests.js");

const LOGIN = /** @type {any} */ ({ id: "h1", kind: "login", reason: "The bank asks who you are", instructions: "", region: null, choices: [], fields: [], claimed_by: null });
const CONFIRM = { ...LOGIN, kind: "confirm", reason: "Place the order for 12.90?" };
const YOU = control().you;
/** @type {any} */
let shown;
/** @type {any} */
let requests;
/** @type {any[]} */
let answered = [];

beforeEach(() => {
  body.replaceChildren();
  answered = [];
  shown = parts(body, { place: "p", count: "b", text: "span", claimed: "span", answer: "button", yes: "button", no: "button", panel: "div" });
  requests = new OpenRequests(shown, ({ id }, outcome) => answered.push([id, outcome]));
});

test("a request says how many there are and what the first is about", () => {
  requests.show([LOGIN, { ...LOGIN, id: "h2" }], YOU);
  assert.deepEqual([shown.place.hidden, shown.count.textContent, shown.text.textContent], [false, "2", "The agent asks you to sign in: The bank asks who you are"]);
  assert.equal(asks("confirm"), "The agent asks you to confirm");
  requests.show([], YOU);
  assert.equal(shown.place.hidden, true);
});

test("who may answer opens the card, and a guest does not", () => {
  requests.show([LOGIN], YOU);
  assert.equal(shown.answer.hidden, false);
  requests.show([LOGIN], { ...YOU, role: "view" });
  assert.equal(shown.answer.hidden, true);
  requests.show([LOGIN], undefined);
  assert.equal(shown.answer.hidden, true);
});

test("it says who has taken it on", () => {
  const said = (claimed) => (requests.show([{ ...LOGIN, claimed_by: claimed }], YOU), shown.claimed.textContent);
  assert.deepEqual([said(null), said("ann#1234"), said("bob#5678")], ["", "You're on it", "bob · 5678 is on it"]);
});

test("a question of one line is answered in the bar", () => {
  requests.show([CONFIRM], YOU);
  assert.deepEqual([shown.yes.hidden, shown.no.hidden, shown.answer.hidden, shown.place.className], [false, false, true, "whole"]);
  shown.yes.onclick();
  shown.no.onclick();
  assert.deepEqual(answered, [["h1", "done"], ["h1", "cannot"]]);
  requests.show([CONFIRM, LOGIN], YOU);
  assert.equal(shown.answer.hidden, false, "the others are in the cards");
});

test("what has more to read, is another's, or is seen by a guest, is not answered in the bar", () => {
  for (const [asked, you] of [[{ ...CONFIRM, instructions: "Look first." }, YOU], [LOGIN, YOU], [{ ...CONFIRM, claimed_by: "bob#5678" }, YOU], [CONFIRM, { ...YOU, role: "view" }]]) {
    requests.show([asked], you);
    assert.deepEqual([shown.yes.hidden, shown.no.hidden, shown.place.className], [true, true, ""], JSON.stringify(asked));
  }
});

test("what has just come under the pointer cannot be pressed", async () => {
  requests.show([CONFIRM], YOU);
  assert.equal(shown.yes.disabled, true);
  await new Promise((done) => setTimeout(done, 800));
  assert.equal(shown.yes.disabled, false);
  requests.show([CONFIRM], YOU);
  assert.equal(shown.yes.disabled, false, "it is the same one");
});

test("the agent's words are one line without what turns it", () => {
  requests.show([{ ...CONFIRM, reason: "Pay\n\u202e09.21" }], YOU);
  assert.equal(shown.text.textContent, "The agent asks you to confirm: Pay  09.21");
});
