// The card of an approval: one click each, the time that is left, and who may.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { approval, REACH } from "./approvals.mjs";
import { fakeActions } from "./handoffs.mjs";

const body = openDocument();
/** @type {(() => void)[]} */
let ticks = [];
globals({ setInterval: (act) => ticks.push(act), clearInterval: () => (ticks = []) });
const { ApprovalCard, endOf } = await import("/static/requests/approval_card.js");

/** An approval that has so many seconds left. @param {number} seconds @param {object} [changes] */
const waiting = (seconds, changes = REACH) => ({ ...changes, created_at: Date.now() / 1000 + seconds - 30, deadline_at: Date.now() / 1000 + seconds });

/** @param {any} [handoff] @param {object} [given] @returns {any} */
function shown(handoff = waiting(30), given = {}) {
  /** @type {string[][]} */
  const done = [];
  const card = new ApprovalCard(handoff, fakeActions({ decide: async ({ id }, decision) => void done.push([id, decision]), ...given }));
  body.replaceChildren(/** @type {any} */ (card.element));
  return Object.assign(card, { done });
}

/** @param {any} card */
const buttons = (card) => card.element.querySelectorAll("button");

test("it says what wants what, with its details unfolded", () => {
  const { element } = shown();
  assert.equal(element.querySelector("h2").textContent, "The agent asks you to allow something");
  assert.equal(element.querySelector(".reason").textContent, "curl in shell 2 wants to reach api.example.com:443");
  assert.deepEqual(element.querySelectorAll("dd").map(({ textContent }) => textContent), ["api.example.com", "443", "curl", "shell:2", "ask me"]);
  assert.equal(element.getAttribute("aria-labelledby"), `${element.querySelector("h2").id} ${element.querySelector(".reason").id}`);
});

test("each decision is one click", async () => {
  for (const [text, decision] of [["Allow once", "once"], ["Allow for this task", "task"], ["Always allow", "always"], ["Deny", "deny"]]) {
    const card = shown();
    buttons(card).find(({ textContent }) => textContent === text).click();
    await settled();
    assert.deepEqual(card.done, [["h7", decision]]);
  }
});

test("only the answers that count are offered, and a long command is read before them", () => {
  const card = shown(waiting(30, { ...REACH, approval: { ...REACH.approval, answers: ["once", "deny", "constructor"], details: { command: "x".repeat(200) } } }));
  assert.deepEqual(buttons(card).map(({ textContent }) => textContent), ["Allow once", "Deny"]);
  assert.equal(card.element.hasAttribute("data-cut"), true);
});

test("where silence allows, it says so", () => {
  assert.equal(shown(waiting(9, { ...REACH, on_timeout: "allow" })).element.querySelector(".left").textContent, "Allowed in 9 s if nobody answers");
});

test("one decision is made at a time, and none right after it came under the pointer", async () => {
  const { promise, resolve } = Promise.withResolvers();
  let count = 0;
  const card = shown(waiting(30), { decide: () => (count++, promise) });
  card.settle(true);
  assert.ok(buttons(card).every(({ disabled }) => disabled));
  card.settle(false);
  buttons(card)[0].click();
  buttons(card)[3].click();
  assert.deepEqual([count, buttons(card).every(({ disabled }) => disabled)], [1, true]);
  resolve(false);
  await settled();
  assert.equal(buttons(card)[0].disabled, false);
});

test("it counts down to the denial, and cannot be answered after it", () => {
  const card = shown(waiting(12.4));
  assert.equal(card.element.querySelector(".left").textContent, "Denied in 13 s if nobody answers");
  assert.equal(card.element.querySelector(".left").getAttribute("aria-live"), "off");
  card.ends.at = performance.now() - 1;
  ticks.forEach((tick) => tick());
  assert.equal(card.element.querySelector(".left").textContent, "Denied: nobody answered in time.");
  assert.ok(buttons(card).every(({ disabled }) => disabled));
});

test("what waits for long is counted in minutes", () => {
  const long = { ...REACH, created_at: Date.now() / 1000, deadline_at: Date.now() / 1000 + 600 };
  assert.equal(shown(long).element.querySelector(".left").textContent, "Denied in 10 min if nobody answers");
});

test("a clock that cannot be right does not count", () => {
  const left = (handoff) => Math.round((endOf(handoff).at - performance.now()) / 1000);
  assert.equal(left(waiting(7)), 7);
  assert.equal(left({ ...REACH, created_at: 0, deadline_at: 30 }), 30, "this clock is ahead by years");
  assert.equal(left({ ...REACH, created_at: 9e9, deadline_at: 9e9 + 20 }), 20, "this clock is behind");
});

test("it stops counting once it is gone", () => {
  ticks = [];
  const card = shown();
  card.element.remove();
  ticks.forEach((tick) => tick());
  assert.deepEqual(ticks, []);
});

test("who may only watch sees it and decides nothing", () => {
  const card = shown(waiting(30), { you: undefined });
  assert.deepEqual([card.tools.hidden, card.state.textContent], [true, "You are watching only: somebody else answers."]);
});

test("hostile text is text, in the order in which it is written", () => {
  const { element } = shown(waiting(30, approval("shell", { command: "<img src=x>\u202e", reason: "<b>Trust me</b>\u202e" })));
  assert.equal(element.querySelectorAll("img").length + element.querySelectorAll("b").length, 0);
  assert.equal(element.querySelector("dd").textContent, "<img src=x>⟨U+202E⟩");
  assert.equal(element.querySelector("dd").dir, "ltr");
  assert.equal(element.querySelector(".words").textContent, "<b>Trust me</b>");
});

/** An approval whose answers say what they allow. @param {object} effects @param {object} [more] */
const withEffects = (effects, more = {}) => waiting(30, { ...REACH, approval: { ...REACH.approval, ...more, effects } });
const CONNECTIONS = { once: { covers: "c", seconds: 300, rule: null }, task: { covers: "c", seconds: 14400, rule: null } };

test("a time for which an answer holds stands on its button, and what it covers beside it", () => {
  const { element, tools } = shown(withEffects(CONNECTIONS, { details: { ...REACH.approval.details, user: "agent" } }));
  assert.deepEqual([...tools.querySelectorAll("button")].map(({ textContent }) => textContent), ["Allow for 5 min", "Allow for 4 h", "Always allow", "Deny"]);
  const said = [...element.querySelectorAll(".effects dd")].map(({ textContent }) => textContent);
  assert.deepEqual(said, Array(2).fill("Connections of the agent’s programs to api.example.com:443."));
});

test("an answer for what waits alone has no time", () => {
  const card = shown(withEffects({ once: { covers: "This act alone.", seconds: null, rule: null } }, { details: { ...REACH.approval.details, request: "POST /a" } }));
  assert.equal(buttons(card)[0].textContent, "Allow once");
  assert.equal(buttons(card)[0].title, "What waits now, and nothing else.");
  assert.equal(card.element.querySelectorAll(".effects dd").length, 0);
});

test("the rule of always is seen before it is saved", async () => {
  const rule = '{"action":"allow","hosts":["a.example"],"x":"\\u202e"}';
  const card = shown(withEffects({ always: { covers: "c", seconds: null, rule } }));
  const named = (text) => buttons(card).find(({ textContent }) => textContent === text);
  named("Always allow").click();
  await settled();
  assert.deepEqual([card.done, card.written.hidden, card.tools.hidden], [[], false, true]);
  assert.equal(card.written.querySelector("pre").textContent, 'action: "allow"\nhosts: ["a.example"]\nx: "⟨U+202E⟩"');
  named("Back").click();
  assert.deepEqual([card.written.hidden, card.tools.hidden], [true, false]);
  card.show(card.handoff);
  assert.equal(card.tools.hidden, false);
  named("Always allow").click();
  named("Save this rule").click();
  await settled();
  assert.deepEqual(card.done, [["h7", "always"]]);
});

test("a body and arguments are read before the buttons", () => {
  for (const name of ["body", "arguments"]) {
    assert.equal(shown(waiting(30, { ...REACH, approval: { ...REACH.approval, details: { [name]: "x" } } })).element.hasAttribute("data-cut"), true);
  }
  assert.equal(shown().element.hasAttribute("data-cut"), false);
});

test("what a person in private mode allows ends with it", () => {
  const { element } = shown(withEffects({ once: { covers: "c", seconds: null, rule: null } }, { answers: ["once", "deny"], details: { ...REACH.approval.details, user: "desktop" } }));
  assert.equal(element.querySelector(".effects dd").textContent, "Connections of the desktop’s programs to api.example.com:443, until private mode ends.");
});
