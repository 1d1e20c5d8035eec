// The notices of the bar.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { control, fakeLease, MINE, OTHER } from "./control.mjs";

const body = openDocument();
const { Notices } = await import("/static/bar/notices.js");

/** @type {any} */
let place;
/** @type {any} */
let lease;
/** @type {any} */
let notices;

beforeEach(() => {
  place = document.createElement("div");
  body.replaceChildren(place);
  lease = fakeLease();
  notices = new Notices(place, lease);
});

/** @param {object} changes */
function show(changes) {
  lease.now = control(changes);
  notices.show(lease.now);
}

/** @returns {[text: string, buttons: string[]][]} */
const shown = () => place.children.map(({ children: [text, tools] }) => [text.textContent, tools.children.map((button) => button.textContent)]);

test("the holder answers a request for control, others do not see it", () => {
  const requests = [{ subject: "bob#5678", person: true, ends_in: 30 }, { subject: "agent", person: false, ends_in: 30 }];
  show({ ...MINE, requests });
  assert.deepEqual(shown(), [
    ["bob · 5678 asks for control", ["Give it", "Not now"]],
    ["The agent asks for control", ["Give it", "Not now"]],
  ]);
  place.children[0].querySelectorAll("button").forEach((button) => button.click());
  assert.deepEqual(lease.done, [["answer", "bob#5678", true], ["answer", "bob#5678", false]]);
  const asked = { ...OTHER, requests: [{ subject: "cat#1", person: true, ends_in: 30 }] };
  show(asked);
  assert.deepEqual(shown(), []);
  show({ ...asked, you: { role: "admin" } });
  assert.deepEqual(shown(), [["cat · 1 asks for control", ["Give it", "Not now"]]], "an admin answers for anybody");
});

test("a pause says what stands still, as long as it lasts", () => {
  show({ state: "frozen", paused: { count: 3, names: ["python3", "no\u202ede\nx"] } });
  assert.deepEqual(shown(), [["The agent is paused. 3 of its programs stand still: python3, no de x.", []]]);
  show({ state: "frozen", paused: { count: 30, names: Array(20).fill("x".repeat(99)) } });
  assert.equal(shown()[0][0], `The agent is paused. 30 of its programs stand still: ${Array(5).fill(`${"x".repeat(30)}…`).join(", ")}, ….`);
  show({ state: "frozen", paused: { count: 0, names: [] } });
  assert.deepEqual(shown(), [["The agent is paused. None of its programs was running.", []]]);
  show({ state: "frozen" });
  assert.deepEqual(shown(), [["The agent is paused: nothing new starts. Programs that already run go on.", []]]);
  show({ ...MINE, paused: { count: 3, names: ["python3"] } });
  assert.deepEqual(shown(), [["3 of the agent's programs stand still until it has control again.", []]]);
  show({});
  assert.deepEqual(shown(), []);
});

test("the holder is warned before control returns, and can stay where it was idle", () => {
  const returning = { seconds: 20, reason: "idle", soon: true };
  show({ ...MINE, returning });
  assert.deepEqual(shown(), [["You have been still. The agent has control again in 20 s.", ["I am still here"]]]);
  show({ ...MINE, returning: { ...returning, reason: "cap" } });
  assert.deepEqual(shown(), [["Control ends in 20 s: it was held for the longest time.", []]]);
  show({ ...MINE, returning: { ...returning, soon: false } });
  assert.deepEqual(shown(), []);
  show({ ...OTHER, returning: { ...returning, reason: "lost" } });
  assert.deepEqual(shown(), [["The connection of bob · 5678 is lost. The agent has control again in 20 s.", []]]);
});

test("a message is shown for a moment, and a failure is one", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  show({});
  await notices.run({ id: "x", text: "", act: () => Promise.reject(new Error("the box is gone")) });
  assert.deepEqual(shown(), [["That did not work: the box is gone", []]]);
  t.mock.timers.tick(5000);
  assert.deepEqual(shown(), []);
});

test("a message goes with the state that it was about", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  show(MINE);
  notices.notify("You have control.");
  show({ ...MINE, epoch: 7 });
  assert.equal(shown().length, 1);
  show({});
  assert.deepEqual(shown(), []);
});

test("a notice that is kept stays until it is dropped, and there are not many", () => {
  const kept = (/** @type {number} */ at, /** @type {string} */ text = `blocked ${at}`) => notices.keep({ id: `b${at}`, text, actions: [{ id: "x", text: "Allow", act: async () => {} }] });
  for (const at of [1, 2, 3, 4]) kept(at);
  show({ ...OTHER });
  assert.deepEqual(shown().map(([text]) => text), ["blocked 2", "blocked 3", "blocked 4"]);
  kept(3, "blocked again");
  notices.drop("b2");
  assert.deepEqual(shown(), [["blocked 4", ["Allow"]], ["blocked again", ["Allow"]]]);
});
