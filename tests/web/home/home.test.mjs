// The home page: the state of the work, and what each caller may see and use.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { control } from "../bar/control.mjs";
import { globals } from "../browser/dom.mjs";
import { answering, Events, refusing, settled } from "../browser/network.mjs";
import { openPage } from "../browser/page.mjs";

const ANSWERS = /** @type {Record<string, any>} */ ({
  "/readyz": () => Response.json({ status: "starting", components: { mcp: "ready", stream: "ready", vnc: "not started" } }, { status: 503 }),
  "/auth": () => Response.json({ caller: "ann#1234", scopes: "view control shell code admin" }),
  "/v1/editors": () => ({ editors: [{ name: "code-server", installed: true }, { name: "jupyter", installed: false }] }),
  "/v1/sandbox": () => Response.json({ version: "1.2.3", home_dir: "/home/gem", workspace: "/home/gem/work", detail: { system: { os: "Debian", os_version: "13", arch: "x86_64", user: "gem", timezone: "UTC" } } }),
  "/v1/doctor": () => ({ checks: [{ name: "own_user", status: "holds", detail: "", hint: null }, { name: "box", status: "lost", detail: "", hint: "fix" }], lost: ["box"] }),
  "/v1/mcp/status": () => [],
  "/v1/ports/shares": () => [],
  "/v1/shell/sessions": () => ({ sessions: {} }),
  "/v1/keys": () => [],
});

/** What stands further down comes into sight when a test says so. */
class Sight {
  /** @param {(seen: {isIntersecting: boolean}[]) => void} tell */
  constructor(tell) {
    Sight.tell = tell;
  }
  /** @type {(seen: {isIntersecting: boolean}[]) => void} */
  static tell = () => {};
  static left = 0;
  observe() {}
  disconnect() {
    Sight.left++;
  }
}

const body = /** @type {any} */ (openPage("home"));
mock.timers.enable({ apis: ["setTimeout", "setInterval"] }); // readiness is asked for again and again
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
globals({ localStorage: storage, sessionStorage: storage, EventSource: Events, requestAnimationFrame: (draw) => draw(), SharedWorker: undefined, IntersectionObserver: Sight });
const asked = answering((_, path) => (path.startsWith("/v1/recorder") ? { events: [], next: 0 } : path in ANSWERS ? ANSWERS[path]() : refusing(403, "no")));
await import("/static/bar/bar.js");
const bar = /** @type {any} */ (document.createElement("tandem-bar")); // the stand-in upgrades no elements of a page
body.replaceChildren(bar, ...body.children);
bar.connectedCallback();
await import("/static/home/home.js");
await settled();

/** @param {string} selector */
const find = (selector) => body.querySelector(selector);
/** @param {string} name */
const pane = (name) => find(`[data-pane=${name}]`);
/** @param {object} changes of who drives */
function tell(changes) {
  bar.lease.show({ control: control(changes), kind: "state", by: "" });
}

test("who drives stands over the picture, in the driver's colour", () => {
  tell({ state: "agent", agent_seen: true });
  assert.deepEqual([find("#drives").textContent, pane("browser").dataset.driver], ["The agent drives", "agent"]);
  tell({ state: "human", holder: "bob#5678", agent_seen: true });
  assert.deepEqual([find("#drives").textContent, pane("browser").dataset.driver], ["bob · 5678 drives", "other"]);
});

test("while somebody else is private there is no picture, and it says why", () => {
  tell({ state: "human", holder: "bob#5678", private: "bob#5678", you: { ...control().you, sees: false } });
  assert.deepEqual([find("#cover").textContent, find("#cover").hidden, find("#live").hidden], ["Private: bob · 5678 has hidden the screen for a moment.", false, true]);
  tell({ state: "agent", agent_seen: true });
  assert.deepEqual([find("#cover").hidden, find("#live").hidden], [true, false]);
});

test("the picture leads to the live page, which opens here, too", () => {
  assert.deepEqual([find("#live").href, pane("browser").querySelector(".line a").href], ["/view", "/view"]);
  const here = pane("browser").querySelectorAll("button").find((button) => button.textContent === "Show here");
  here.onclick();
  assert.deepEqual([pane("browser").querySelector("iframe").src, find("#live").hidden], ["/view", true]);
  pane("browser").querySelectorAll("button").find((button) => button.textContent === "Close").onclick();
  assert.equal(find("#live").hidden, false);
});

test("while there never was an agent, how to connect one stands first and is open", async () => {
  tell({ state: "agent", agent_seen: false });
  assert.deepEqual([find("#connect-title").textContent, find("main tandem-requests").nextElementSibling.id, find("#connect").open], ["Waiting for an agent: connect one", "connect", true]);
  find("#connect").dispatchEvent(new Event("toggle"));
  await settled();
  assert.equal(find("#snippets [role=tab]").textContent, "Claude Code");
  tell({ state: "agent", agent_seen: true });
  assert.equal(find("#connect-title").textContent, "Connect an agent");
});

test("ports come and go with the events", () => {
  bar.dispatchEvent(new CustomEvent("ports", { detail: { ports: [{ port: 3000, process: { command: "vite" }, url: "" }] } }));
  assert.equal(find("#ports").textContent, "3000viteShare");
  bar.dispatchEvent(new CustomEvent("ports", { detail: { ports: [] } }));
  assert.equal(find("#ports").textContent, "No ports open yet. Start a server, and it appears here.");
});

test("the operator's list is folded, and says how much is off; it is loaded when it is opened", async () => {
  assert.deepEqual([find("#operator").hidden, find("#protections").textContent, find("#readiness").textContent], [false, "1 of 2 protections are off", "Starting"]);
  assert.equal(asked.some(({ path }) => path === "/v1/mcp/status"), false);
  find("#operator").open = true;
  find("#operator").dispatchEvent(new Event("toggle"));
  await settled();
  assert.deepEqual(find("#states").children.map(({ textContent }) => textContent), ["MCPready", "Live pictureready", "VNCstarting"]);
});

test("what is not installed is told at the pane", () => {
  assert.deepEqual(["editor", "notebook"].map((name) => pane(name).querySelector(".state").textContent), ["", "Not installed"]);
});

test("a port that one names opens as a preview in a page of its own", () => {
  const opened = [];
  globals({ open: (...given) => opened.push(given) });
  find("#port").value = "03000";
  find("#preview").dispatchEvent(new Event("submit", { cancelable: true }));
  assert.deepEqual(opened, [["/proxy/3000/", "_blank", "noopener"]]);
});

test("the network is there for who may use the sandbox, and to be managed by who manages it", () => {
  assert.deepEqual([find("tandem-network").hidden, find("tandem-network").hasAttribute("manages")], [false, true]);
});

test("checkpoints are loaded when they come into sight, once", async () => {
  const loaded = () => Sight.left;
  Sight.tell([{ isIntersecting: false }]);
  assert.equal(loaded(), 0);
  Object.assign(document, { head: document.createElement("head") });
  Sight.tell([{ isIntersecting: true }]);
  await settled();
  assert.deepEqual([Sight.left, /** @type {any} */ (document.head.children[0]).href], [1, "/static/checkpoints/checkpoints.css"]);
});
