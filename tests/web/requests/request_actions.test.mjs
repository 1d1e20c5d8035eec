// What a person does about requests, and what they are told that came in between.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { control, fakeLease, MINE as DRIVING } from "../bar/control.mjs";
import { openDocument } from "../browser/dom.mjs";
import { answering, refusing } from "../browser/network.mjs";
import { REACH } from "./approvals.mjs";
import { CONFIRM, LOGIN } from "./handoffs.mjs";

openDocument();
const { RequestActions } = await import("/static/requests/request_actions.js");

const LATER = Date.now() / 1000 + 600;
/** @type {any} */
let lease;
/** @type {string[]} */
let told = [];
/** @type {any} */
let actions;

beforeEach(() => {
  lease = fakeLease();
  lease.now = control();
  told = [];
  actions = new RequestActions(lease, (text) => told.push(text));
});

/** A sandbox that refuses an answer, and tells what the request is. @param {object} now */
const conflict = (now) => answering((method) => (method === "GET" ? { status: "open", outcome: null, deadline_at: LATER, claimed_by: null, ...now } : refusing(409, "no")));

test("an answer is sent as it is, and the person is told so", async () => {
  const asked = answering(() => null);
  assert.equal(await actions.answer(CONFIRM, { outcome: "done" }), true);
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/handoffs/h2/answer", body: { outcome: "done", note: "", choice: null, values: {} } }]);
  assert.deepEqual([told, lease.done], [["Sent to the agent"], []]);
});

test("control goes back before the answer, where it was taken for it, and only by who has it", async () => {
  lease.now = control(DRIVING);
  answering(() => void lease.done.push("answer"));
  await actions.answer(LOGIN, { outcome: "done" }, { release: true });
  assert.deepEqual(lease.done, ["release", "answer"]);
  lease.done.length = 0;
  lease.now = control();
  await actions.answer(LOGIN, { outcome: "done" }, { release: true });
  assert.deepEqual(lease.done, ["answer"]);
});

for (const [became, says] of /** @type {const} */ ([
  [{ status: "closed", outcome: "done", closed_by: "bob#5678" }, "bob · 5678 answered first. Your answer was not sent."],
  [{ status: "closed", outcome: "cancelled", closed_by: "agent" }, "The agent has withdrawn its request."],
  [{ status: "closed", outcome: "timeout", closed_by: "clock" }, "Too late: the request has expired."],
  [{ deadline_at: 1 }, "Too late: the request has expired."],
  [{ status: "claimed", claimed_by: "bob#5678" }, "bob · 5678 is on it"],
  [{}, "That did not work: no"],
])) {
  test(`who comes too late is told: ${says}`, async () => {
    conflict(became);
    assert.equal(await actions.answer(CONFIRM, { outcome: "done" }), false);
    assert.deepEqual(told, [says]);
  });
}

test("taking a request on takes control, unless one has it", async () => {
  const asked = answering(() => null);
  await actions.claim(LOGIN);
  assert.deepEqual([asked.map(({ path }) => path), lease.done], [["/v1/handoffs/h1/claim"], ["take"]]);
  lease.now = control(DRIVING);
  await actions.claim({ ...LOGIN, claimed_by: "bob#5678" });
  assert.deepEqual([asked[1].path, asked[1].body, lease.done], ["/v1/handoffs/h1/assign", { to: "ann#1234" }, ["take"]]);
});

test("passing on hands control back; a refusal is told", async () => {
  lease.now = control(DRIVING);
  const asked = answering(() => null);
  await actions.passOn(LOGIN, "bob#5678", { release: true });
  assert.deepEqual([asked[0].path, asked[0].body, lease.done], ["/v1/handoffs/h1/assign", { to: "bob#5678" }, ["release"]]);
  answering(() => refusing(404, "bob has left"));
  await actions.passOn(LOGIN, "bob#5678", { release: false });
  assert.deepEqual(told, ["That did not work: bob has left"]);
});

test("who was about to answer is told why a request is gone, and not of their own answer", async () => {
  answering(() => ({ status: "closed", outcome: "done", closed_by: "bob#5678" }));
  await actions.explainGone("h1");
  assert.deepEqual(told, ["The request is closed: bob · 5678 answered it."]);
  answering(() => null);
  await actions.answer(CONFIRM, { outcome: "done" });
  told.length = 0;
  await actions.explainGone(CONFIRM.id);
  assert.deepEqual(told, []);
});

test("guests and programs do not answer; other people who may are those to pass on to", () => {
  assert.equal(actions.you, "ann#1234");
  lease.now = control({ viewers: [{ name: "ann#1234", role: "admin", you: true }, { name: "bob#5678", role: "control", you: false }, { name: "eve#9", role: "view", you: false }], you: { role: "admin" } });
  assert.deepEqual([actions.others, actions.decides], [["bob#5678"], true]);
  for (const you of [{ role: "view" }, { person: false }]) {
    lease.now = control({ you });
    assert.equal(actions.you, undefined);
  }
});

test("a decision is sent as it is, and said", async () => {
  const asked = answering(() => null);
  assert.equal(await actions.decide(REACH, "task"), true);
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/handoffs/h7/answer", body: { outcome: "task" } }]);
  assert.deepEqual(told, ["Allowed for this task"]);
});

for (const [became, says] of /** @type {const} */ ([
  [{ outcome: "deny", closed_by: "bob#5678" }, "bob · 5678 answered: Denied."],
  [{ outcome: "timeout", closed_by: "clock" }, "It was denied: nobody answered in time."],
  [{ outcome: "timeout", on_timeout: "allow" }, "It was allowed: nobody answered in time."],
  [{ outcome: "cancelled" }, "It no longer waits for an answer."],
])) {
  test(`who saw an approval go is told: ${says}`, async () => {
    const now = { ...REACH, status: "closed", ...became };
    answering((method) => (method === "GET" ? now : refusing(409, "closed")));
    await actions.explainGone("h7");
    assert.equal(await actions.decide(REACH, "once"), false);
    assert.deepEqual(told, Array(2).fill(`curl in shell 2 wants to reach api.example.com:443. ${says}`));
  });
}

test("who decided is not told what became of it", async () => {
  answering(() => ({ ...REACH, status: "closed", outcome: "once" }));
  await actions.decide(REACH, "once");
  await actions.explainGone("h7");
  assert.deepEqual(told, ["Allowed once"]);
});
