// The operator's list.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

const body = openDocument();
const { Components, showOperator } = await import("/static/home/operator.js");

const CHECKS = [
  { name: "own_user", status: "holds", detail: "uid 1000", hint: null },
  { name: "disk", status: "unknown", detail: "", hint: null },
  { name: "box", status: "lost", detail: "", hint: "add the seccomp profile" },
];
const ANSWERS = /** @type {Record<string, any>} */ ({
  "/v1/sandbox": Response.json({
    version: "1.2.3", home_dir: "/home/gem", workspace: "/home/gem/work",
    detail: { system: { os: "Debian", os_version: "13", arch: "x86_64", user: "gem", timezone: "UTC" } },
  }),
  "/v1/mcp/status": [{ name: "files", state: "stopped", tools: 3, reason: null }, { name: "mail", state: "failed", tools: null, reason: "no such program" }],
});
/** @param {string} id */
const rows = (id) => body.querySelector(`#${id}`).children.map(({ children }) => children.map((part) => part.textContent));

beforeEach(() => {
  body.innerHTML = '<ul id="servers"></ul><ul id="checks"></ul><dl id="facts"></dl><ul id="states"></ul>';
});

test("protections that are off come first, with what to do about it", async () => {
  answering((_, path) => ANSWERS[path]);
  showOperator(Promise.resolve({ checks: /** @type {any} */ (CHECKS) }));
  await settled();
  assert.deepEqual(rows("checks"), [["box", "off", "add the seccomp profile"], ["disk", "unknown"], ["own user", "on"]]);
  assert.deepEqual(rows("servers"), [["files", "on demand"], ["mail", "failed", "no such program"]]);
  const facts = body.querySelector("#facts").children.map(({ textContent }) => textContent);
  assert.deepEqual(facts.slice(0, 4), ["System", "Debian 13, x86_64", "User", "gem"]);
});

test("what cannot be read is told in its place", async () => {
  answering(() => Promise.reject(new TypeError("nothing answers")));
  showOperator(Promise.reject(new Error("nothing answers")));
  await settled();
  assert.deepEqual([rows("checks"), rows("servers"), body.querySelector("#facts").textContent], [[["nothing answers"]], [["nothing answers"]], "nothing answers"]);
});

test("components have plain names; one that was never ready is starting, and one that was is not", () => {
  const components = new Components(body.querySelector("#states"));
  components.show({ "desktop-bus": "ready", mcp: "not started", spawner: "ready" });
  assert.deepEqual(rows("states"), [["Desktop services", "ready"], ["MCP", "starting"], ["Program launcher", "ready"]]);
  assert.deepEqual(body.querySelectorAll(".state").map(({ className }) => className), ["state good", "state waiting", "state good"]);
  components.show({ spawner: "not answering" });
  assert.deepEqual([rows("states"), body.querySelector(".state").className], [[["Program launcher", "not answering"]], "state bad"]);
});
