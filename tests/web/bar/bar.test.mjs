// The bar as a whole: what each caller sees of it, and what it tells its page.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, Events, refusing, settled } from "../browser/network.mjs";
import { control, MINE } from "./control.mjs";

const body = openDocument();
globals({ EventSource: Events, setInterval: () => 0, SharedWorker: undefined });
await import("/static/bar/bar.js");

const LOGIN = { id: "h1", kind: "login", reason: "The bank asks who you are", claimed_by: null };
/** @type {any} */
let bar;
/** @type {any[]} */
let heard = [];

beforeEach(() => {
  Events.opened.length = 0;
  heard = [];
});

/** @param {string} scopes @param {string[]} [attributes] */
async function open(scopes, attributes = []) {
  answering(() => Response.json({ caller: "ann#1234", scopes }));
  await show(attributes);
}

/** @param {string[]} attributes */
async function show(attributes) {
  bar?.disconnectedCallback();
  bar = document.createElement("tandem-bar");
  for (const name of attributes) bar.setAttribute(name, "");
  body.replaceChildren(bar);
  for (const name of ["control", "handoffs", "connection"]) bar.addEventListener(name, (event) => heard.push([name, event.detail]));
  bar.connectedCallback();
  await settled();
}

/** @param {object} changes */
const tell = (changes) => Events.opened[0].tell("control", { kind: "state", by: "", control: control(changes) });
const part = (id) => bar.querySelector(`#${id}`);
const actions = () => part("actions").children.map(({ textContent }) => textContent);

test("it says who drives, in one colour here and around the screen", async () => {
  await open("view control");
  tell(MINE);
  assert.deepEqual([part("driver").textContent, bar.dataset.driver, document.body.dataset.driver], ["You drive", "you", "you"]);
  tell({ ...MINE, scope: ["shell"] });
  assert.deepEqual([bar.dataset.driver, document.body.dataset.driver], ["you", "agent"]);
  tell({ ...MINE, private: "ann#1234" });
  assert.equal(bar.dataset.driver, "private");
  assert.deepEqual(heard.map(([name]) => name), ["connection", "control", "control", "control"]);
});

test("it has the actions of the page: those about the screen where it is shown", async () => {
  await open("view control");
  tell({});
  assert.deepEqual(actions(), ["Take control", "Pause agent"]);
  await open("view control", ["screen"]);
  Events.opened.at(-1)?.tell("control", { kind: "state", by: "", control: control() });
  assert.deepEqual([actions(), bar.primaryAction().text], [["Take control", "Private", "Pause agent"], "Take control"]);
});

test("a request is told in the bar, and to the page", async () => {
  await open("view control");
  tell({});
  Events.opened[0].tell("handoffs", [LOGIN]);
  assert.deepEqual([part("asked").hidden, part("asked-count").textContent], [false, "1"]);
  assert.deepEqual([heard.at(-1)[0], heard.at(-1)[1].open], ["handoffs", [LOGIN]]);
  assert.equal(bar.handoffs.length, 1);
});

test("a guest sees who drives and who watches, and has no buttons and no pages that are not theirs", async () => {
  await open("view");
  tell({ you: { role: "view" }, viewers: [{ name: "ann#1234", role: "view", you: true }, { name: "bob#5678", role: "control", you: false }] });
  assert.deepEqual([actions(), part("view-only").hidden, part("bar-invite-open").hidden], [[], false, true]);
  assert.deepEqual([part("viewers").title, part("viewers-count").textContent], ["2 watching: ann · 1234 (you), bob · 5678", "2"]);
  assert.deepEqual(part("navigation").children.map(({ textContent }) => textContent), ["Home", "Live", "API"]);
});

test("who may not look asks for no events", async () => {
  await open("files");
  assert.deepEqual([Events.opened.length, part("driver").textContent], [0, "This link doesn't include the screen."]);
});

test("where no agent was there yet, it leads to how to connect one", async () => {
  await open("view control");
  tell({ agent_seen: false });
  assert.deepEqual([part("driver").textContent, part("bar-connect").hidden, part("bar-connect").href], ["Waiting for an agent", false, "/#connect"]);
  tell({});
  assert.equal(part("bar-connect").hidden, true);
});

test("a lost connection and a session that has ended are told apart", async () => {
  await open("view");
  Events.opened[0].fail(0);
  assert.equal(part("driver").textContent, "Connection lost. Reconnecting…");
  answering(() => refusing(401, "no"));
  await show([]);
  assert.equal(part("driver").textContent, "You are signed out. Sign in, or open a new link.");
});

test("a sandbox that does not answer yet is asked again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  answering(() => refusing(503, "starting"));
  await show([]);
  assert.equal(part("driver").textContent, "Connection lost. Reconnecting…");
  answering(() => Response.json({ caller: "ann#1234", scopes: "view" }));
  t.mock.timers.tick(4000);
  await settled();
  assert.equal(Events.opened.length, 1);
});

test("who waits for control sees for how long", async () => {
  await open("view control");
  tell({ take: "ask", requests: [{ subject: "ann#1234", person: true, ends_in: 9 }] });
  assert.equal(part("driver").textContent, "The agent drives · Asked for control · 9 s");
});

test("the menu of a narrow page opens and closes", async () => {
  await open("view");
  part("bar-menu").click();
  assert.deepEqual([bar.hasAttribute("data-open"), part("bar-menu").getAttribute("aria-expanded")], [true, "true"]);
  part("bar-menu").click();
  assert.equal(bar.hasAttribute("data-open"), false);
});

test("who hands back with a request taken on is asked what becomes of it", async () => {
  await open("view control");
  tell(MINE);
  Events.opened[0].tell("handoffs", [{ ...LOGIN, claimed_by: "ann#1234" }]);
  part("actions").children[0].click();
  await settled();
  assert.equal(bar.querySelector(".hand-back").open, true);
});

/** @param {string} key */
function press(key) {
  const event = Object.assign(new Event("keydown", { cancelable: true }), { key, ctrlKey: true, altKey: true, metaKey: false, composedPath: () => [body] });
  dispatchEvent(event);
}

test("by the keyboard a person takes control, leaves the screen, and begins private mode and ends it", async () => {
  await open("view control", ["screen"]);
  tell({});
  const asked = answering(() => control());
  document.activeElement = body;
  press("Backspace");
  assert.equal(document.activeElement, part("actions").children[0]);
  press("Enter");
  press("p");
  tell({ ...MINE, private: "ann#1234" });
  press("p");
  await settled();
  assert.deepEqual(asked.map(({ path }) => path), ["/v1/control/take", "/v1/control/private", "/v1/control/public"]);
});

test("who made a checkpoint, and that nothing stopped, is told on every page", async () => {
  await open("view control");
  tell({});
  Events.opened[0].tell("control", { kind: "checkpoint:made", by: "bob#5678", note: "before; no programs were stopped", control: control() });
  await settled();
  assert.equal(bar.querySelector(".notice p").textContent, "bob · 5678 made the checkpoint “before”. No programs were stopped.");
  bar.notify("");
});

test("what the sandbox connects to is passed on, and the key goes to what waits for an answer", async () => {
  await open("view control");
  tell({});
  bar.addEventListener("egress", (event) => heard.push(["egress", event.detail]));
  const told = { status: {}, connections: [{ id: 1, at: 1, ended: 1, action: "deny", rule: "default", host: "a.example" }], left_out: 0 };
  Events.opened[0].tell("egress", told);
  await settled();
  assert.deepEqual([heard.at(-1), bar.blocked], [["egress", told], undefined], "it is long past");
  const list = document.createElement("tandem-requests");
  list.innerHTML = '<section class="request"><button></button></section>';
  bar.handoffs = [LOGIN];
  const main = document.createElement("main");
  main.append(list);
  body.append(main);
  bar.shortcuts.bar.asked();
  assert.equal(document.activeElement, list.querySelector("button"));
  main.remove();
});
