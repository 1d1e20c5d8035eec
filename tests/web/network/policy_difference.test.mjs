// What differs between two policies.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { POLICY } from "./connections.mjs";

openDocument();
const { differenceOf, ruleText } = await import("/static/network/policy_difference.js");

/** @param {any} before @param {any} after */
const lines = (before, after) => differenceOf(before, after).lines.map(({ sign, text }) => `${sign} ${text}`);
const RULE = { action: "allow", hosts: ["a.example"] };

test("rules are added and removed, and fields change", () => {
  assert.deepEqual(lines(POLICY, { default: "allow", rules: [RULE] }), [
    "± default: deny → allow", "+ allow a.example", "− allow pypi.org, files.pythonhosted.org · port 443",
  ]);
  assert.deepEqual(lines(POLICY, POLICY), []);
  assert.deepEqual(lines({ rules: [RULE] }, { rules: [{ ...RULE, name: "rule 0" }], default: "deny", mode: "enforce" }), [], "names and what is the default anyway");
});

test("the order of rules is a difference, too", () => {
  const other = { ...RULE, action: "deny" };
  assert.deepEqual(lines({ rules: [RULE, other] }, { rules: [other, RULE] }), ["± the order of the rules"]);
});

test("a rule is told whole", () => {
  const rule = { action: "ask", hosts: ["*"], cidrs: ["10.0.0.0/8"], sets: ["npm"], ports: [22, "8000-9000"], protocols: ["tcp"], methods: ["GET"], paths: ["/a/**"], task: "t1", until: 0.5 };
  assert.equal(ruleText(rule), "ask about *, 10.0.0.0/8, the set npm · port 22, 8000-9000 · tcp · GET · /a/** · task t1 · until 1970-01-01 00:00 UTC");
  assert.match(ruleText({ action: "deny", hosts: Array.from({ length: 50 }, (_, at) => `h${at}`) }), /^deny h0, .*h11 and 38 more$/);
});

test("there is an end to it", () => {
  const rules = Array.from({ length: 5000 }, (_, at) => ({ action: "allow", hosts: [`h${at}`] }));
  const found = differenceOf({ rules: [] }, { rules });
  assert.deepEqual([found.lines.length, found.more], [200, 4800]);
});
