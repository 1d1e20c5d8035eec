// The state of the policy in one sentence.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { POLICY, STATUS } from "./connections.mjs";

openDocument();
const { policySentence } = await import("/static/network/policy_sentence.js");

/** @param {object} status @param {any} [policy] */
const says = (status, policy) => policySentence(/** @type {any} */ ({ ...STATUS, ...status }), policy).text;
/** @param {any[]} rules */
const allowing = (...rules) => says({ default: "allow" }, { default: "allow", rules });
const twelve = Array.from({ length: 12 }, (_, at) => `h${at}.example`);

test("a policy that allows is told by what it denies", () => {
  assert.equal(allowing(), "Everything is allowed but private metadata addresses");
  assert.equal(allowing({ action: "allow", cidrs: ["10.0.0.0/8"] }), "Everything is allowed but private metadata addresses");
  assert.equal(allowing({ action: "deny", hosts: ["a.example"] }), "Everything is allowed but 1 denied host and private metadata addresses");
  assert.equal(allowing({ action: "ask", hosts: twelve }), "Everything is allowed but private metadata addresses; 12 hosts are asked about");
  assert.equal(allowing({ action: "ask", hosts: twelve }, { action: "deny", sets: ["pypi"] }), "Everything is allowed but 1 denied hosts and private metadata addresses; 12 are asked about");
});

test("a policy that denies is told by what it allows", () => {
  assert.equal(says({}, POLICY), "Only 2 hosts are allowed");
  assert.equal(says({}, { rules: [{ action: "allow", hosts: twelve }, { action: "ask", hosts: ["b.example"] }] }), "Only 12 hosts are allowed; 1 is asked about");
  assert.equal(says({}, { rules: [] }), "Nothing is allowed");
  assert.equal(says({}, { rules: [{ action: "allow", hosts: ["a.example"] }] }), "Only 1 host is allowed");
  assert.equal(says({}, { rules: [{ action: "allow", sets: ["pypi"], hosts: ["a.example"], cidrs: ["10.0.0.0/8", "192.168.0.0/16"] }] }), "Only 1 host, 1 set of hosts, and 2 networks are allowed");
  assert.equal(says({}, { rules: [{ action: "allow", hosts: ["*"] }] }), "Every public host is allowed by a rule");
  assert.equal(says({}, { rules: [{ action: "allow", hosts: ["a.example"], until: 1 }] }), "Nothing is allowed", "its time is over");
});

test("who may not see the policy sees how many rules there are", () => {
  assert.equal(says({ rules: 3 }), "Only what 3 rules allow");
});

test("learning says how much it has noted", () => {
  assert.deepEqual([says({ mode: "learn", learned: 7 }), says({ mode: "learn", learned: 1 })], ["Learning: 7 hosts noted", "Learning: 1 host noted"]);
});

test("whom a policy does not hold is told with it", () => {
  const asked = policySentence(/** @type {any} */ ({ ...STATUS, enforcement: "proxy" }), POLICY);
  assert.deepEqual(asked, { text: "Only 2 hosts are allowed. Not enforced: only programs that use the proxy ask", tone: "waiting" });
  assert.equal(says({ enforcement: "rules" }, POLICY), "Only 2 hosts are allowed. Root is exempt");
  assert.equal(says({ enforcement: "proxy", running: false }), "The egress process does not answer.");
});

test("what does not work is told as such", () => {
  assert.equal(says({ enabled: false, reason: "EGRESS=false" }), "No policy is enforced here: EGRESS=false");
  assert.deepEqual(policySentence(/** @type {any} */ ({ ...STATUS, running: false })), { text: "The network is closed: the egress process does not answer.", tone: "bad" });
});
