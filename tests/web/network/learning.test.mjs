// Learning a policy.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { POLICY, state, STATUS } from "./connections.mjs";

const body = openDocument();
const { Learning } = await import("/static/network/learning.js");

const PROPOSED = { ...POLICY, rules: [...POLICY.rules, { name: "learned", action: "allow", hosts: ["cdn.example.net"], ports: [443] }] };
/** @type {any} */
let learning;
let changes = 0;

beforeEach(() => {
  changes = 0;
  learning = new Learning(async () => void changes++);
  body.replaceChildren(learning.element);
});

const buttons = () => learning.tools.children.map(({ textContent }) => textContent);
/** @param {string} text */
async function press(text) {
  learning.element.querySelectorAll("button").find(({ textContent }) => textContent === text).click();
  await settled();
}

test("it begins, and ends", async () => {
  const asked = answering(() => state());
  learning.show(STATUS);
  assert.deepEqual(buttons(), ["Learn a policy"]);
  await press("Learn a policy");
  assert.deepEqual(asked.at(-1), { method: "PATCH", path: "/v1/egress/policy", body: { mode: "learn", default: "deny" } });
  learning.show({ ...STATUS, mode: "learn", learned: 2 });
  assert.deepEqual(buttons(), ["See the proposed policy", "Stop learning", "Forget what was noted"]);
  await press("Stop learning");
  assert.deepEqual([asked.at(-1)?.body, changes], [{ mode: "enforce" }, 2]);
});

test("the proposal is shown as a difference, and used against the policy that it was compared with", async () => {
  learning.show({ ...STATUS, mode: "learn", learned: 1 });
  /** @type {any[]} */
  const put = [];
  answering((method, path, sent, headers) => (method === "PUT" ? (put.push([sent, headers["If-Match"]]), state(PROPOSED)) : path.endsWith("proposal") ? { policy: PROPOSED } : state()));
  await press("See the proposed policy");
  assert.deepEqual(learning.proposal.querySelectorAll("li").map(({ textContent }) => textContent), ["+ allow cdn.example.net · port 443"]);
  await press("Use this policy");
  assert.deepEqual(put, [[PROPOSED, '"1"']]);
  assert.deepEqual([learning.proposal.hidden, learning.said.textContent, changes], [true, "The proposed policy is in force.", 1]);
});

test("a policy that was changed meanwhile is not overwritten: the new difference is shown", async () => {
  learning.show({ ...STATUS, mode: "learn", learned: 1 });
  answering((method, path) => (method === "PUT" ? refusing(412, "stale") : path.endsWith("proposal") ? { policy: PROPOSED } : state()));
  await press("See the proposed policy");
  await press("Use this policy");
  assert.deepEqual([learning.proposal.hidden, learning.said.textContent, changes], [false, "The policy was changed meanwhile. This is the difference to what is in force now.", 0]);
});

test("what was noted can be forgotten, and what fails is told", async () => {
  learning.show({ ...STATUS, mode: "learn", learned: 1 });
  answering(() => refusing(503, "away"));
  await press("Forget what was noted");
  assert.deepEqual([learning.said.textContent, changes], ["That did not work: away", 0]);
  const asked = answering(() => null);
  await press("Forget what was noted");
  assert.deepEqual([asked[0].method, asked[0].path, changes], ["DELETE", "/v1/egress/proposal", 1]);
});

test("nothing is offered while nothing is enforced", () => {
  learning.show({ ...STATUS, running: false });
  assert.equal(learning.element.hidden, true);
});
