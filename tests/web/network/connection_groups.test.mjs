// Connections grouped by the host that they go to.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { approval, REACH } from "../requests/approvals.mjs";
import { ALLOWED, LEARNED, REFUSED } from "./connections.mjs";

openDocument();
const { groupsOf, isGrantable, MAX_GROUPS, MAX_KEPT, MAX_SHOWN, merged, stateOf } = await import("/static/network/connection_groups.js");

test("changes replace what was known, the newest is first, and there is an end", () => {
  assert.deepEqual(merged([ALLOWED, LEARNED], [REFUSED, { ...LEARNED, bytes_sent: 5 }]).map(({ id, bytes_sent: sent }) => [id, sent]), [[3, 0], [2, 2048], [1, 5]]);
  const many = Array.from({ length: 1000 }, (_, id) => ({ ...ALLOWED, id }));
  assert.deepEqual([merged([], many).length, merged([], many)[0].id], [MAX_KEPT, 999]);
});

test("a group has the ports, sums and state of its host", () => {
  const [group] = groupsOf([{ ...REFUSED, id: 9, port: 8443, count: 3 }, { ...ALLOWED, host: REFUSED.host }], []);
  assert.deepEqual([group.host, group.ports, group.state, group.count, group.open, group.sent, group.received], ["api.example.com", [8443, 443], "refused", 4, 1, 2048, 1 << 20]);
});

test("the state is that of the newest connection", () => {
  assert.deepEqual([REFUSED, ALLOWED, LEARNED, { ...REFUSED, rule: "unreachable" }].map(stateOf), ["refused", "allowed", "learned", "unreachable"]);
  assert.equal(groupsOf([ALLOWED, { ...REFUSED, id: 1, host: ALLOWED.host }], [])[0].state, "allowed");
});

test("what somebody is asked about waits, and comes first", () => {
  const groups = groupsOf([REFUSED, { ...ALLOWED, host: "api.example.com" }, LEARNED], [REACH, approval("network", { host: "new.example.com" }), approval("shell", { host: "y" }), { ...REACH, kind: "confirm" }]);
  assert.deepEqual(groups.map(({ host, state }) => [host, state]), [["new.example.com", "waiting"], ["api.example.com", "waiting"], ["cdn.example.net", "learned"]]);
});

test("hosts are bounded, and so is what is shown of one", () => {
  const hosts = Array.from({ length: 100 }, (_, id) => ({ ...ALLOWED, id, host: `h${id}.example` }));
  assert.equal(groupsOf(hosts, []).length, MAX_GROUPS);
  assert.equal(groupsOf(hosts.map((each) => ({ ...each, host: "one.example" })), [])[0].connections.length, MAX_SHOWN);
});

test("a rule for the host changes nothing about an address that is protected, or a connection that is wrong itself", () => {
  assert.deepEqual(["default", "my rule", "protected", "mismatch"].map(isGrantable), [true, true, false, false]);
});
