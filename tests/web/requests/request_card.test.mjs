// The card of one request: what each person can do about it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { CONFIRM, fakeActions, LOGIN, MINE, PASSWORD, USER } from "./handoffs.mjs";

const body = openDocument();
const { RequestCard } = await import("/static/requests/request_card.js");

/** @param {object} [handoff] @param {any} [actions] @returns {any} */
function shown(handoff = LOGIN, actions = fakeActions()) {
  const card = new RequestCard(/** @type {any} */ (handoff), actions);
  body.replaceChildren(/** @type {any} */ (card.element));
  return Object.assign(card, { done: actions.done });
}

/** Whether somebody sees an element: neither it nor what it is in is hidden, or folded. @param {any} element @returns {boolean} */
function visible(element) {
  for (let above = element; above; above = above.parentElement) {
    if (above.hidden || (above.localName === "details" && !above.hasAttribute("open"))) return false;
  }
  return true;
}

/** @param {any} card */
const buttons = (card) => card.element.querySelectorAll("button").filter(visible).map(({ textContent }) => textContent);

/** @param {any} card @param {string} text */
async function press(card, text) {
  card.element.querySelectorAll("button").find(({ textContent }) => textContent === text).click();
  await settled();
}

/** @param {any} card */
async function submit(card) {
  card.element.querySelector("form").dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
}

test("a card says what is asked, why, where and how", () => {
  const { element } = shown();
  assert.equal(element.querySelector("h2").textContent, "The agent asks you to sign in");
  assert.equal(element.querySelector(".reason").textContent, "The bank asks who you are");
  assert.equal(element.querySelector(".instructions").textContent, "Use the work account");
  assert.equal(element.querySelector("code").textContent, "https://bank.test/login");
  assert.equal(element.getAttribute("aria-labelledby"), element.querySelector("h2").id);
});

test("it says what comes after the deadline", () => {
  assert.match(shown({ ...LOGIN, on_timeout: "continue" }).element.querySelector(".details").textContent, /then the agent goes on without you/);
  assert.match(shown({ ...LOGIN, on_timeout: "give_up" }).element.querySelector(".details").textContent, /then the agent gives up/);
});

test("a confirmation is yes or no in one click, without claiming and without giving control back", async () => {
  const card = shown(CONFIRM);
  assert.deepEqual(buttons(card), ["Yes, go ahead", "No"]);
  await press(card, "Yes, go ahead");
  assert.deepEqual(card.done, [["answer", "h2", { outcome: "done", note: "", values: {} }, { release: false }]]);
  const other = shown(CONFIRM);
  other.element.querySelector("textarea").value = "too expensive";
  await press(other, "No");
  assert.deepEqual(other.done, [["answer", "h2", { outcome: "cannot", note: "too expensive", values: {} }, { release: false }]]);
});

test("a choice is answered by itself, as the agent wrote it, and does not look like a button of the page", async () => {
  const sly = "\u202eTake control";
  const card = shown({ ...CONFIRM, kind: "choice", choices: ["Red", sly] });
  assert.deepEqual(buttons(card), ["Red", "Take control"]);
  assert.deepEqual(card.element.querySelectorAll(".choice").map(({ className }) => className), ["choice", "choice"]);
  await press(card, "Take control");
  assert.equal(card.done[0][2].choice, sly);
});

test("there is an end to what an agent can put on a card", () => {
  const choices = Array.from({ length: 500 }, () => "c".repeat(10_000));
  const fields = Array.from({ length: 500 }, (_, at) => ({ name: `f${at}`, label: "l".repeat(10_000), secret: false }));
  const { element } = shown({ ...CONFIRM, reason: "r".repeat(10_000), choices, fields });
  assert.deepEqual([element.querySelectorAll(".choice").length, element.querySelectorAll("input").length], [12, 12]);
  assert.ok(element.textContent.length < 12 * 401 + 12 * 220 + 4001 + 400, String(element.textContent.length));
});

test("words that may scroll can be reached by the keyboard, short ones are no stop", () => {
  const { element } = shown({ ...LOGIN, instructions: "i".repeat(500) });
  assert.deepEqual([element.querySelector(".instructions").tabIndex, element.querySelector(".reason").tabIndex], [0, undefined]);
});

test("an empty choice can still be told from none", () => {
  assert.deepEqual(buttons(shown({ ...CONFIRM, choices: ["\u200b", "b"] })), ["(empty)", "b"]);
});

test("the fields of a form stand in the order asked, with one button", async () => {
  const asked = answering(() => null);
  const card = shown({ ...LOGIN, fields: [USER, PASSWORD] });
  assert.deepEqual(card.element.querySelectorAll("label").map(({ textContent }) => textContent), ["User name", "Password"]);
  assert.deepEqual(buttons(card), ["Fill in and finish", "Take this on"]);
  const [user, password] = card.element.querySelectorAll("input");
  [user.value, password.value] = ["ann", "hunter2"];
  await submit(card);
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/handoffs/h1/secret", body: { field: "password", secret: "hunter2" } }]);
  assert.deepEqual(card.done, [["answer", "h1", { outcome: "done", note: "", values: { user: "ann" } }, { release: false }]]);
});

test("where a secret could not be typed, nothing is answered", async () => {
  answering(() => refusing(409, "the page has another origin"));
  const card = shown({ ...LOGIN, fields: [USER, PASSWORD] });
  card.element.querySelectorAll("input")[1].value = "hunter2";
  await submit(card);
  assert.deepEqual(card.done, []);
  assert.equal(card.element.querySelectorAll("button").some(({ disabled }) => disabled), false);
});

test("a code is asked for at once, and goes to the agent as the message", async () => {
  const card = shown({ ...CONFIRM, kind: "otp" });
  assert.deepEqual([card.element.querySelector("label").textContent, card.element.querySelector("input").autocomplete], ["One-time code", "one-time-code"]);
  assert.deepEqual(buttons(card), ["Send to the agent", "Take this on"]);
  card.element.querySelector("input").value = "123456";
  await submit(card);
  assert.deepEqual(card.done[0][2], { outcome: "done", note: "123456", values: {} });
});

test("who must drive takes it on, answers, and gives control back with the answer", async () => {
  const card = shown();
  assert.deepEqual(buttons(card), ["Take this on"]);
  await press(card, "Take this on");
  assert.deepEqual(card.done, [["claim", "h1"]]);
  card.show(MINE);
  assert.deepEqual(buttons(card), ["Done", "Partly done", "Can't do it", "Solved another way"]);
  assert.equal(card.element.querySelector(".claimed").textContent, "You're on it");
  card.element.querySelector("textarea").value = "one more code to type";
  await press(card, "Partly done");
  assert.deepEqual(card.done[1], ["answer", "h1", { outcome: "partly", note: "one more code to type", values: {} }, { release: true }]);
});

test("whoever drives can say that it is done without filling in the form", async () => {
  const card = shown({ ...LOGIN, fields: [PASSWORD] });
  await press(card, "Take this on");
  await press(card, "Done");
  assert.deepEqual(card.done[1], ["answer", "h1", { outcome: "done", note: "", values: {} }, { release: true }]);
});

test("who may not answer sees the card without buttons, and why", () => {
  const card = shown(CONFIRM, fakeActions({ you: undefined }));
  assert.deepEqual([buttons(card), card.element.querySelector(".claimed").textContent], [[], "You are watching only: somebody else answers."]);
});

test("an admin takes over what another has claimed, others do not", async () => {
  const theirs = { ...LOGIN, claimed_by: "bob#5678" };
  assert.deepEqual(buttons(shown(theirs)), []);
  const card = shown(theirs, fakeActions({ decides: true }));
  assert.deepEqual(buttons(card), ["Take this over"]);
  await press(card, "Take this over");
  assert.deepEqual(card.done, [["claim", "h1"]]);
  assert.ok(!buttons(shown(MINE, fakeActions({ decides: true }))).includes("Take this over"), "nobody takes over from themselves");
});

test("it can be passed on to another who watches", async () => {
  const card = shown(MINE, fakeActions({ others: ["bob#5678"] }));
  const select = card.element.querySelector("select");
  assert.deepEqual(select.children.map(({ textContent }) => textContent), ["Pass on to…", "bob · 5678"]);
  select.value = "bob#5678";
  select.onchange();
  await settled();
  assert.deepEqual([card.done, select.value], [[["pass", "h1", "bob#5678", { release: true }]], ""]);
});

test("what is being written stays when the request changes, and so does the focus", () => {
  const card = shown({ ...LOGIN, fields: [USER] });
  const input = card.element.querySelector("input");
  assert.equal(card.begun, false);
  input.value = "half a na";
  input.focus();
  card.show({ ...LOGIN, fields: [USER], claimed_by: "ann#1234" });
  assert.deepEqual([card.element.querySelector("input"), document.activeElement, card.begun], [input, input, true]);
});

test("one answer is sent, however often somebody clicks", async () => {
  const card = shown(CONFIRM);
  const [yes] = card.element.querySelectorAll("button").filter(visible);
  yes.click();
  yes.click();
  await settled();
  assert.equal(card.done.length, 1);
});

test("what has just moved under the pointer cannot be pressed", () => {
  const card = shown(CONFIRM);
  card.settle(true);
  assert.ok(card.element.querySelectorAll("button").every(({ disabled }) => disabled));
  card.settle(false);
  assert.ok(card.element.querySelectorAll("button").every(({ disabled }) => !disabled));
});

test("Enter in a field of a confirmation is no yes", async () => {
  const card = shown({ ...CONFIRM, fields: [USER] });
  await submit(card);
  assert.deepEqual(card.done, []);
});
