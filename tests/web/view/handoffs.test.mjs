// The cards of handoffs: what each person can do about a request, and what is sent.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, Events, refusing, settled } from "../browser/network.mjs";

/** @type {string[][]} */
const notified = [];
/** A notification that was shown. */
class Notified {
  static permission = "granted";
  constructor(title, { body }) {
    notified.push([title, body]);
  }
}

const body = openDocument();
globals({ EventSource: Events, Notification: Notified });
const { Handoffs } = await import("/static/view/handoffs.js");

const LOGIN = {
  id: "h1", kind: "login", reason: "The bank asks who you are", instructions: "Use the work account", url: "https://bank.test/login", region: null,
  choices: [], fields: [], deadline_at: 0, claimed_by: null,
};
const MINE = { ...LOGIN, claimed_by: "ann#1234" };

/** @type {any} */
let page;
/** @type {any} */
let place;
/** @type {any} */
let handoffs;
/** @type {any[]} */
let done = [];

beforeEach(() => {
  done = [];
  place = document.createElement("div");
  body.replaceChildren(place);
  page = {
    you: () => "ann#1234",
    others: () => [],
    decides: () => false,
    take: async () => void done.push("take"),
    release: async () => void done.push("release"),
    failed: (error) => done.push(error.message),
    changed: () => {},
  };
  handoffs = new Handoffs(place, page);
  handoffs.follow();
});

/** @param {...any} open */
const tell = (...open) => Events.opened.at(-1).tell("handoffs", open);
const buttons = () => place.querySelectorAll("button").map(({ textContent }) => textContent);
/** @param {string} text */
async function press(text) {
  place.querySelectorAll("button").find(({ textContent }) => textContent === text).click();
  await settled();
}

test("a card says what is asked, why, where and how", () => {
  tell(LOGIN);
  assert.equal(place.querySelector("h2").textContent, "The agent asks you to sign in");
  assert.equal(place.querySelector(".reason").textContent, "The bank asks who you are");
  assert.equal(place.querySelector(".instructions").textContent, "Use the work account");
  assert.equal(place.querySelector("code").textContent, "https://bank.test/login");
});

test("claiming a request takes control", async () => {
  const asked = answering(() => null);
  tell(LOGIN);
  await press("I will do it");
  assert.deepEqual(asked.map(({ path }) => path), ["/v1/handoffs/h1/claim"]);
  assert.deepEqual(done, ["take"]);
});

test("who may not answer sees the card without buttons", () => {
  page.you = () => undefined;
  tell(LOGIN, { ...LOGIN, id: "h2", claimed_by: "bob#5678" });
  assert.deepEqual(buttons(), []);
});

test("whoever claimed it answers, and control is given back before the answer is sent", async () => {
  answering((_, path) => void done.push(path));
  tell(MINE);
  assert.deepEqual(buttons(), ["Done", "Partly", "I cannot", "Done otherwise"]);
  place.querySelector("textarea").value = "one more code to type";
  await press("Partly");
  assert.deepEqual(done, ["release", "/v1/handoffs/h1/answer"]);
});

test("an answer has the fields that were filled in, and the note", async () => {
  const asked = answering(() => null);
  tell({ ...MINE, fields: [{ name: "street", label: "Street", secret: false }, { name: "floor", label: "Floor", secret: false }] });
  place.querySelector("input").value = "Main St 1";
  await press("Done");
  assert.deepEqual(asked[0].body, { outcome: "done", note: "", choice: null, values: { street: "Main St 1" } });
});

test("a choice is answered by its button", async () => {
  const asked = answering(() => null);
  tell({ ...MINE, kind: "choice", choices: ["Red", "Blue"] });
  assert.deepEqual(buttons(), ["Red", "Blue", "I cannot", "Done otherwise"]);
  await press("Blue");
  assert.deepEqual([asked[0].body.outcome, asked[0].body.choice], ["done", "Blue"]);
});

test("an admin takes over what another has claimed, others do not", async () => {
  const asked = answering(() => null);
  tell({ ...LOGIN, claimed_by: "bob#5678" });
  assert.deepEqual(buttons(), []);
  page.decides = () => true;
  handoffs.show();
  await press("I will do it instead");
  assert.deepEqual([asked[0].path, asked[0].body, done], ["/v1/handoffs/h1/assign", { to: "ann#1234" }, ["take"]]);
  tell(MINE);
  assert.ok(!buttons().includes("I will do it instead"), "nobody takes over from themselves");
});

test("it can be passed on to another who watches; a refusal is told, and the list is as before", async () => {
  page.others = () => ["bob#5678"];
  tell(MINE);
  const select = place.querySelector("select");
  assert.deepEqual(select.children.map(({ textContent }) => textContent), ["Pass on to…", "bob · 5678"]);
  select.value = "bob#5678";
  answering(() => refusing(409, "bob has left"));
  await select.onchange();
  assert.deepEqual([done, select.value], [["release", "bob has left"], ""]);
});

test("what is being written stays when the cards are drawn again, and so does the focus", () => {
  tell(MINE);
  const note = place.querySelector("textarea");
  note.value = "half a sen";
  note.focus();
  tell(MINE, { ...LOGIN, id: "h2" });
  const again = place.querySelector("textarea");
  assert.notEqual(again, note);
  assert.deepEqual([again.value, document.activeElement], ["half a sen", again]);
});

test("a request that is new calls whoever looks elsewhere, once", () => {
  Object.assign(document, { hidden: true });
  notified.length = 0;
  tell(LOGIN);
  tell(LOGIN);
  assert.deepEqual(notified, [["The agent asks you to sign in", "The bank asks who you are"]]);
  Object.assign(document, { hidden: false });
  tell({ ...LOGIN, id: "h3" });
  assert.equal(notified.length, 1, "whoever looks here sees the card");
});

test("events that were refused are asked for again", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const before = Events.opened.length;
  Events.opened.at(-1).fail(0);
  t.mock.timers.tick(4000);
  assert.equal(Events.opened.length, before);
  Events.opened.at(-1).fail(Events.CLOSED);
  t.mock.timers.tick(4000);
  assert.equal(Events.opened.length, before + 1);
});
