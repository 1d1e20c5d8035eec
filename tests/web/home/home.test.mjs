// The home page: what the sandbox tells of itself, and what each caller can open.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { openPage } from "../browser/page.mjs";

const ANSWERS = /** @type {Record<string, any>} */ ({
  "/readyz": Response.json({ status: "starting", components: { api: "ready", stream: "ready", code_server: "starting" } }, { status: 503 }),
  "/auth": Response.json({ caller: "ann#1234", scopes: "view control" }),
  "/v1/editors": { editors: [{ name: "code-server", installed: true }, { name: "jupyter", installed: false }] },
  "/v1/sandbox": Response.json({
    version: "1.2.3", home_dir: "/home/gem", workspace: "/home/gem/work",
    detail: { system: { os: "Debian", os_version: "13", arch: "x86_64", user: "gem", timezone: "UTC" } },
  }),
  "/v1/doctor": { checks: [{ name: "own_user", status: "holds", detail: "uid 1000", hint: null }, { name: "box", status: "lost", detail: "", hint: "add the seccomp profile" }] },
  "/v1/mcp/status": [{ name: "files", state: "stopped", tools: 3, reason: null }, { name: "mail", state: "failed", tools: null, reason: "no such program" }],
  "/v1/ports": { ports: [] },
});

const body = /** @type {any} */ (openPage("home"));
mock.timers.enable({ apis: ["setTimeout"] }); // readiness is asked for again and again
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
globals({ localStorage: storage, sessionStorage: storage });
const asked = answering((_, path) => (path in ANSWERS ? ANSWERS[path] : refusing(403, "no")));
await import("/static/home/home.js");
await settled();

/** @param {string} id */
const rows = (id) => body.querySelector(`#${id}`).children.map(({ children }) => children.map((part) => part.textContent));
/** @param {string} name */
const pane = (name) => body.querySelector(`[data-pane=${name}]`);

test("it says whether everything is ready, and how each component is", () => {
  const readiness = body.querySelector("#readiness");
  assert.deepEqual([readiness.textContent, readiness.className], ["Starting", "state waiting"]);
  assert.deepEqual(rows("states"), [["api", "ready"], ["stream", "ready"], ["code server", "starting"]]);
});

test("the desktop is the stream, where there is one", () => {
  assert.equal(pane("browser").querySelector("a").href, "/view");
  pane("browser").querySelector("button").click();
  assert.equal(pane("browser").querySelector("iframe").src, "/stream/");
});

test("who lacks a scope, and what is not installed, is told at the pane", () => {
  assert.deepEqual(["terminal", "editor", "notebook"].map((name) => pane(name).querySelector(".state").textContent), ["Not for you", "", "Not installed"]);
});

test("it says who one is, and what this computer is", () => {
  assert.deepEqual([body.querySelector("#caller").textContent, body.querySelector("#sign-out").hidden], ["ann", false]);
  const facts = body.querySelector("#facts").children.map(({ textContent }) => textContent);
  assert.deepEqual(facts.slice(0, 4), ["System", "Debian 13, x86_64", "User", "gem"]);
});

test("guarantees and MCP servers have a state and what to do about it", () => {
  assert.deepEqual(rows("checks"), [["own user", "holds"], ["box", "lost", "add the seccomp profile"]]);
  assert.deepEqual(rows("servers"), [["files", "ready when needed"], ["mail", "failed", "no such program"]]);
});

test("a port that one names opens as a preview in a page of its own", () => {
  const opened = [];
  globals({ open: (...given) => opened.push(given) });
  body.querySelector("#port").value = "03000";
  body.querySelector("#preview").dispatchEvent(new Event("submit", { cancelable: true }));
  assert.deepEqual(opened, [["/proxy/3000/", "_blank", "noopener"]]);
});

test("signing out ends the session and asks for the key again", async () => {
  let reloads = 0;
  Object.assign(location, { reload: () => reloads++ });
  ANSWERS["/v1/session"] = null;
  body.querySelector("#sign-out").click();
  await settled();
  assert.deepEqual([asked.at(-1)?.method, asked.at(-1)?.path], ["DELETE", "/v1/session"]);
  assert.equal(reloads, 1);
});
