// The panel of checkpoints as a whole.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, Events, refusing, settled } from "../browser/network.mjs";
import { control } from "../bar/control.mjs";
import { checkpoint, FIRST, RESTORE, RISK } from "./kept.mjs";

const body = openDocument();
location.search = "?lang=en";
/** @type {Function[]} */
let later = [];
globals({ EventSource: Events, setInterval: () => 0, clearInterval: () => {}, SharedWorker: undefined, setTimeout: (/** @type {Function} */ act) => later.push(act) });
await import("/static/checkpoints/checkpoints.js");

/** @type {any} */
let panel;
/** @type {any} */
let bar;
/** @type {any} */
let opener;
/** @type {any} */
let list;
/** @type {Record<string, any>} */
let answers;
/** @type {any[]} */
let asked;

beforeEach(() => {
  later = [];
  list = { head: RISK.id, checkpoints: [FIRST, RISK] };
  answers = {};
});

/** @param {string} scopes @param {object} [attributes] */
async function open(scopes = "view control shell files", attributes = {}) {
  asked = answering((method, path) => {
    if (path === "/auth") return Response.json({ caller: "ann#1234", scopes });
    if (path.includes("/tree")) return { entries: [], more: false, truncated: false };
    return answers[`${method} ${path}`] ?? (path === "/v1/checkpoints" ? list : { stops: [], changed: true });
  });
  bar = document.createElement("tandem-bar");
  panel = document.createElement("tandem-checkpoints");
  panel.id = "checkpoints";
  for (const [name, value] of Object.entries(attributes)) panel.setAttribute(name, value);
  opener = document.createElement("button");
  opener.setAttribute("popovertarget", "checkpoints");
  body.replaceChildren(bar, opener, panel);
  bar.lease = { now: control() };
  panel.connectedCallback();
  await settled();
}

const names = () => panel.querySelectorAll(".checkpoint").map((row) => row.querySelector(".name").textContent);
const lists = () => asked.filter(({ method, path }) => method === "GET" && path === "/v1/checkpoints").length;
const form = () => panel.querySelector("form");
const submit = async () => {
  form().onsubmit(new Event("submit"));
  await settled();
};

test("it lists the newest first, and the image", async () => {
  await open();
  assert.deepEqual([panel.hidden, names()], [false, ["Before file.delete_file", "before the upgrade", "Start"]]);
  list = { head: null, checkpoints: [] };
  await panel.refresh();
  assert.match(panel.querySelector("ul").textContent, /^No checkpoints yet/);
});

test("a guest sees nothing of it, and nothing is asked for", async () => {
  await open("view control");
  assert.deepEqual([panel.hidden, opener.hidden, lists()], [true, true, 0]);
});

test("who may only look compares, and makes none", async () => {
  await open("view files");
  assert.deepEqual([panel.hidden, form().hidden, panel.querySelectorAll(".tools button").map(({ textContent }) => textContent)], [false, true, ["Compare", "Compare", "Compare"]]);
});

test("one is made with a name, and it says how long programs stood still", async () => {
  await open();
  answers["POST /v1/checkpoints"] = { checkpoint: checkpoint("dddddddd", { label: "mine" }), pause_ms: 12.3, stopped: [] };
  panel.querySelector("input").value = " mine ";
  const before = lists();
  await submit();
  assert.deepEqual(asked.find(({ method }) => method === "POST").body, { label: "mine" });
  assert.equal(panel.querySelector(".progress").textContent, "“mine” is made. Programs stood still for 13 ms.");
  assert.deepEqual([panel.querySelector("input").value, lists() > before], ["", true]);
});

test("where there is no room, the automatic ones can be removed", async () => {
  await open();
  answers["POST /v1/checkpoints"] = refusing(429, "checkpoints take 9 of 8 bytes");
  await submit();
  assert.match(panel.querySelector(".problem").textContent, /space for checkpoints is used up/);
  answers["POST /v1/checkpoints/prune"] = { removed: ["bbbbbbbb"] };
  panel.querySelectorAll("button").find(({ textContent }) => textContent === "Remove automatic checkpoints").click();
  await settled();
  assert.equal(panel.querySelector(".progress").textContent, "1 automatic checkpoint was removed.");
});

test("after going back, the checkpoint of before is offered", async () => {
  await open();
  answers[`POST /v1/checkpoints/${FIRST.id}/restore`] = { kept: RESTORE, stopped: [{ command: "bash" }] };
  await panel.ask(FIRST.id);
  await settled();
  list = { head: FIRST.id, checkpoints: [FIRST, RISK, RESTORE] };
  panel.querySelector(".plan").querySelectorAll(".tools button")[0].click();
  await settled();
  const outcome = panel.querySelector(".outcome");
  assert.equal(outcome.querySelector("p").textContent, "The files are those of “before the upgrade” again. 1 program was stopped: bash.");
  assert.equal(names()[0], "Before going back to “before the upgrade”");
  outcome.querySelector("button").click();
  await settled();
  assert.equal(panel.querySelector(".plan").closest("li").dataset.id, RESTORE.id);
});

test("what others do is seen, and a plan that is open stays", async () => {
  await open();
  await panel.ask(FIRST.id);
  await settled();
  const plan = panel.querySelector(".plan");
  list = { head: RESTORE.id, checkpoints: [FIRST, RISK, RESTORE] };
  bar.dispatchEvent(new CustomEvent("control", { detail: { control: control(), kind: "checkpoint:made", by: "key" } }));
  await settled();
  assert.deepEqual([names().length, panel.querySelector(".plan") === plan], [4, true]);
  const before = lists();
  bar.dispatchEvent(new CustomEvent("control", { detail: { control: control(), kind: "taken", by: "key" } }));
  await settled();
  assert.equal(lists(), before);
});

test("what is not counted yet is asked for again, a few times", async () => {
  list.checkpoints = [RESTORE];
  await open();
  for (let turn = 0; turn < 20; turn++) {
    later.splice(0).forEach((act) => act());
    await settled();
  }
  assert.equal(lists(), 6);
});

test("a long list is shown in parts", async () => {
  list.checkpoints = Array.from({ length: 30 }, (_, n) => checkpoint(`id${n}`));
  await open();
  assert.equal(names().length, 8);
  const more = panel.children.at(-1);
  assert.equal(more.textContent, "Show more (23)");
  more.click();
  assert.equal(names().length, 16);
  await panel.ask("id0");
  assert.deepEqual([names().length, panel.querySelectorAll(".plan").length], [30, 1]);
  await panel.ask("gone");
});

test("a popover is read when it opens", async () => {
  await open(undefined, { popover: "" });
  assert.deepEqual([opener.hidden, lists()], [false, 0]);
  panel.dispatchEvent(Object.assign(new Event("toggle"), { newState: "open" }));
  await settled();
  assert.equal(lists(), 1);
});

test("a sandbox without a box says so, and one that does not answer, too", async () => {
  answers["GET /v1/checkpoints"] = refusing(409, "there is no box here: BOX=off");
  await open();
  assert.deepEqual([panel.querySelector("ul").textContent, form().hidden], ["Checkpoints are off: this sandbox runs without a box.", true]);
  answers["GET /v1/checkpoints"] = refusing(503, "the box daemon does not answer");
  await open();
  assert.match(panel.querySelector("ul").textContent, /busy/);
});

test("while it is read twice, the question waits for the list that counts", async () => {
  await open();
  list = { head: RESTORE.id, checkpoints: [FIRST, RISK, RESTORE] };
  const asking = panel.ask(RESTORE.id);
  panel.refresh();
  await asking;
  assert.equal(panel.querySelector(".plan").closest("li").dataset.id, RESTORE.id);
});
