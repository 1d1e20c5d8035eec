// The control bar: which state of the lease is shown how, and which buttons it has for whom.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { control } from "./control.mjs";

const body = openDocument();
globals({ setInterval: () => 0 });
const { ControlBar } = await import("/static/view/control_bar.js");

const OTHER = { state: "human", holder: "bob#5678" };
const MINE = { state: "human", holder: "ann#1234", you: { driving: true } };

/** @type {any} */
let shown;
/** @type {any} */
let bar;
/** @type {any[]} */
let done = [];

beforeEach(() => {
  body.replaceChildren();
  done = [];
  shown = parts(body, { driver: "p", actions: "div", notices: "div", viewers: "button" });
  const lease = {
    now: undefined,
    do: async (verb) => void done.push(verb),
    give: async (to) => void done.push(["give", to]),
    answer: async (subject, yes) => void done.push(["answer", subject, yes]),
    secondsLeft: (seconds) => seconds,
  };
  bar = new ControlBar(shown, lease);
  bar.lease = lease;
});

/** @param {object} changes @returns {string[]} the buttons' texts */
function buttons(changes) {
  const state = control(changes);
  bar.lease.now = state;
  bar.show(state);
  return shown.actions.children.map(({ textContent }) => textContent);
}

/** @returns {[text: string, buttons: string[]][]} */
const notices = () => shown.notices.children.map(({ children: [text, tools] }) => [text.textContent, tools.children.map((button) => button.textContent)]);

test("the buttons are those that the state of the lease allows", () => {
  assert.deepEqual(buttons({}), ["Take control", "Private", "Stop everything"]);
  assert.deepEqual(buttons({ take: "ask" }), ["Ask for control", "Stop everything"]);
  assert.deepEqual(buttons(MINE), ["Give back", "Private", "Share", "Stop everything"]);
  assert.deepEqual(buttons({ ...MINE, private: "ann#1234" }), ["Give back", "End private", "Share", "Stop everything"]);
  assert.deepEqual(buttons(OTHER), ["Ask for control", "Stop everything"]);
  assert.deepEqual(buttons({ ...OTHER, you: { role: "admin" } }), ["Ask for control", "Take over", "Stop everything"]);
  assert.deepEqual(buttons({ ...OTHER, requests: [{ subject: "ann#1234", person: true, ends_in: 9 }] }), ["Cancel", "Stop everything"]);
  assert.deepEqual(buttons({ state: "shared" }), ["End sharing", "Stop everything"]);
  assert.deepEqual(buttons({ state: "frozen" }), ["Let the agent go on"]);
});

test("who may only watch, and a program, get no buttons", () => {
  assert.deepEqual(buttons({ you: { role: "view" } }), []);
  assert.deepEqual(buttons({ you: { person: false } }), []);
});

test("it says who drives", () => {
  const said = (changes) => (buttons(changes), shown.driver.textContent);
  assert.equal(said({}), "The agent drives");
  assert.equal(said(MINE), "You drive");
  assert.equal(said(OTHER), "bob · 5678 drives");
  assert.equal(said({ state: "shared" }), "Everybody drives");
  assert.equal(said({ state: "frozen" }), "Everything is stopped");
  assert.equal(said({ ...OTHER, requests: [{ subject: "ann#1234", person: true, ends_in: 9 }] }), "bob · 5678 drives · Asked for control · 9 s");
});

test("the page knows the state, for its colours", () => {
  buttons(MINE);
  assert.equal(document.body.dataset.control, "mine");
  buttons(OTHER);
  assert.equal(document.body.dataset.control, "human");
});

test("it says who watches, and that one only watches", () => {
  buttons({ viewers: [{ name: "ann#1234", role: "view", you: true }, { name: "bob#5678", role: "control", you: false }], you: { role: "view" } });
  assert.equal(shown.viewers.textContent, "Watching: ann · 1234 (you), bob · 5678 · View only");
  buttons({ viewers: [] });
  assert.equal(shown.viewers.textContent, "Nobody watches");
});

test("a button does what it says", async () => {
  buttons(MINE);
  for (const button of [...shown.actions.children]) button.click();
  assert.deepEqual(done, ["release", "private", ["give", "shared"], "freeze"]);
});

test("the holder answers a request for control, others do not see it", () => {
  const requests = [{ subject: "bob#5678", person: true, ends_in: 30 }, { subject: "agent", person: false, ends_in: 30 }];
  buttons({ ...MINE, requests });
  assert.deepEqual(notices(), [
    ["bob · 5678 asks for control", ["Give it", "Not now"]],
    ["The agent asks for control", ["Give it", "Not now"]],
  ]);
  shown.notices.children[0].querySelectorAll("button").forEach((button) => button.click());
  assert.deepEqual(done, [["answer", "bob#5678", true], ["answer", "bob#5678", false]]);
  const asked = { ...OTHER, requests: [{ subject: "cat#1", person: true, ends_in: 30 }] };
  buttons(asked);
  assert.deepEqual(notices(), []);
  buttons({ ...asked, you: { role: "admin" } });
  assert.deepEqual(notices(), [["cat · 1 asks for control", ["Give it", "Not now"]]], "an admin answers for anybody");
});

test("the holder is warned before control returns, and can stay where it was idle", () => {
  const returning = { seconds: 20, reason: "idle", soon: true };
  buttons({ ...MINE, returning });
  assert.deepEqual(notices(), [["You have been still. The agent has control again in 20 s.", ["I am still here"]]]);
  buttons({ ...MINE, returning: { ...returning, reason: "cap" } });
  assert.deepEqual(notices(), [["Control ends in 20 s: it was held for the longest time.", []]]);
  buttons({ ...MINE, returning: { ...returning, soon: false } });
  assert.deepEqual(notices(), []);
  buttons({ ...OTHER, returning: { ...returning, reason: "lost" } });
  assert.deepEqual(notices(), [["The connection of bob · 5678 is lost. The agent has control again in 20 s.", []]]);
});

test("a button that stays keeps the focus, and is not made anew", () => {
  buttons(MINE);
  const stop = shown.actions.lastElementChild;
  stop.focus();
  buttons({});
  assert.equal(shown.actions.lastElementChild, stop);
  assert.equal(document.activeElement, stop);
  buttons({ state: "frozen" });
  assert.equal(document.activeElement, shown.actions.firstElementChild, "the first takes it where its button is gone");
});

test("a message is shown for a moment, and a failure is one", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  buttons({});
  await bar.run({ id: "x", text: "", act: () => Promise.reject(new Error("the box is gone")) });
  assert.deepEqual(notices(), [["That did not work: the box is gone", []]]);
  t.mock.timers.tick(5000);
  assert.deepEqual(notices(), []);
});

test("the shortcut does the first action", () => {
  buttons(MINE);
  assert.equal(bar.primaryAction().text, "Give back");
});
