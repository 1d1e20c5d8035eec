// Keys for agents: made, filled in, listed without the key, and revoked.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

const body = openDocument();
const { AgentKeys } = await import("/static/home/agent_keys.js");

const ENDS = Date.now() / 1000 + 7 * 86400;
/** @type {any[]} */
let kept = [];
/** @type {(string | null)[]} */
let chosen = [];
/** @type {any} */
let place;
/** @type {any} */
let keys;

beforeEach(() => {
  kept = [];
  chosen = [];
  place = document.createElement("div");
  body.replaceChildren(place);
  keys = new AgentKeys(place, (key) => chosen.push(key));
});

/** @returns {any[]} what was asked */
function serving() {
  return answering((method, path) => {
    if (method === "DELETE") kept = kept.filter(({ key_id: id }) => path !== `/v1/keys/${id}`);
    if (method !== "POST") return kept;
    const made = { key_id: `k${kept.length}`, name: `agent-key-k${kept.length}`, label: "", expires_at: ENDS };
    kept = [...kept, made];
    return { ...made, key: `tandem_${kept.length}` };
  });
}
const submit = () => place.querySelector("form").onsubmit(new Event("submit", { cancelable: true }));
const rows = () => place.querySelectorAll("li").map(({ textContent }) => textContent);

test("a key is made for the time that was chosen, filled in and listed without the key", async () => {
  const asked = serving();
  submit();
  await settled();
  assert.deepEqual(asked[0], { method: "POST", path: "/v1/keys", body: { ttl: 7 * 86400 } });
  assert.deepEqual(chosen, ["tandem_1"]);
  assert.deepEqual(rows(), ["agent-key-k0expires in 7 dRevoke"]);
  assert.match(place.querySelector("p").textContent, /^Key created and filled in below; expires in 7 d\. It is not shown again\. Revoke it here/);
});

test("a revoked key leaves the examples; one that this page still knows takes its place", async () => {
  serving();
  submit();
  await settled();
  submit();
  await settled();
  place.querySelectorAll("li")[1].querySelector("button").onclick();
  await settled();
  place.querySelector("li").querySelector("button").onclick();
  await settled();
  assert.deepEqual([chosen, rows()], [["tandem_1", "tandem_2", "tandem_1", null], []]);
  assert.equal(place.querySelector("p").textContent, "Key revoked. Programs that use it are refused.");
});

test("the key of another page is revoked, and nothing changes in the examples", async () => {
  kept = [{ key_id: "old", name: "agent-key-old", label: "Claude", expires_at: ENDS }];
  serving();
  await keys.refresh();
  assert.deepEqual(rows(), ["agent-key-oldClaude · expires in 7 dRevoke"]);
  place.querySelector("li button").onclick();
  await settled();
  assert.deepEqual([chosen, kept], [[], []]);
});

test("a refusal is told", async () => {
  answering(() => refusing(429, "64 agent keys are in force; revoke one"));
  submit();
  await settled();
  assert.deepEqual([place.querySelector("p").textContent, chosen], ["64 agent keys are in force; revoke one", []]);
});
