// Going back: what is said before, and what after.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { control, OTHER } from "../bar/control.mjs";
import { entry, RESTORE } from "./kept.mjs";

const body = openDocument();
location.search = "?lang=en";
const { ofPrograms, restoreOutcome, RestorePlan } = await import("/static/checkpoints/restore_plan.js");

const PROGRAMS = [{ command: "python3 -m http.server" }, { command: "bash" }];
/** @type {any[]} */
let done = [];
/** @type {any} */
let answers;

beforeEach(() => {
  done = [];
  answers = { preview: { stops: PROGRAMS, changed: true }, restored: { kept: RESTORE, stopped: PROGRAMS }, tree: { entries: [entry("site", { change: "deleted", deleted: 1, before: 9 })], more: false, truncated: false } };
});

/** @param {object} [target] @param {object} [actions] */
async function plan(target = {}, actions = {}) {
  const asked = answering((method, path) => (path.includes("/tree") ? answers.tree : method === "POST" ? answers.restored : answers.preview));
  const made = new RestorePlan(
    { id: "aaaaaaaa", name: "before", ...target },
    { control: () => control(), mayLook: true, done: (what) => done.push(what), cancelled: () => done.push("cancelled"), ...actions },
  );
  body.replaceChildren(/** @type {any} */ (made.element));
  await settled();
  return { made, asked, place: /** @type {any} */ (made.element), buttons: /** @type {any} */ (made.element).querySelectorAll(".tools button") };
}

test("it says what would stop and what would change, and does nothing until told to", async () => {
  const { asked, place, buttons } = await plan();
  assert.match(place.textContent, /Go back to “before”\?.*It stops 2 programs: python3, bash\..*kept first.*What will change.*sitecomes back9 B/);
  assert.deepEqual(asked.map(({ method }) => method), ["GET", "GET"]);
  buttons[0].click();
  await settled();
  assert.deepEqual([asked.at(-1)?.path, done], ["/v1/checkpoints/aaaaaaaa/restore", [answers.restored]]);
});

test("it can be left, also by the keyboard, and nothing happens", async () => {
  const { asked, place, buttons } = await plan();
  buttons[1].click();
  place.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key: "Escape" }));
  place.dispatchEvent(Object.assign(new Event("keydown", { cancelable: true }), { key: "a" }));
  assert.deepEqual([done, asked.length], [["cancelled", "cancelled"], 2]);
});

test("while it is not known what would stop, nobody can go on", async () => {
  answers.preview = refusing(404, "no checkpoint");
  const { place, buttons } = await plan();
  assert.equal(buttons[0].disabled, true);
  assert.match(place.textContent, /That checkpoint is gone\./);
});

test("a refusal is told, and it can be tried again", async () => {
  const { place, buttons } = await plan({}, { control: () => control(OTHER) });
  assert.match(place.textContent, /bob · 5678 has control/);
  answers.restored = refusing(423, "bob has control");
  buttons[0].click();
  await settled();
  assert.match(place.querySelector(".problem[role=status]")?.textContent ?? "", /bob · 5678 has control/);
  assert.deepEqual([buttons[0].disabled, done], [false, []]);
});

test("who takes control meanwhile is told, for as long as the question is shown", async () => {
  let now = control();
  const changes = new EventTarget();
  const { made, place } = await plan({}, { control: () => now, changes });
  assert.equal(/** @type {any} */ (made.warning).hidden, true);
  now = control(OTHER);
  changes.dispatchEvent(new Event("control"));
  assert.match(place.textContent, /bob · 5678 has control/);
  now = control();
  changes.dispatchEvent(new Event("control"));
  assert.doesNotMatch(place.textContent, /has control/);
  body.replaceChildren();
  now = control(OTHER);
  changes.dispatchEvent(new Event("control"));
  assert.doesNotMatch(place.textContent, /has control/);
});

test("sentences that are still read come later, and who may not look sees no files", async () => {
  const { place } = await plan({ about: ["at once", Promise.resolve("later"), Promise.reject(new Error("no"))] }, { mayLook: false });
  assert.deepEqual(place.querySelectorAll(".about").map(({ textContent }) => textContent), ["at once", "later"]);
  assert.equal(place.querySelector(".changes"), null);
});

test("how many programs stop is told in one form for each number", () => {
  assert.equal(ofPrograms("stops", []), "No program runs, so nothing is stopped.");
  assert.equal(ofPrograms("stopped", PROGRAMS.slice(1)), "1 program was stopped: bash.");
  assert.equal(ofPrograms("stops", Array(100).fill({ command: "sh" })), "It stops 100 programs or more: sh ×100.");
});

test("afterwards it says what was stopped and offers the way back, where there is one", () => {
  let undone = 0;
  const place = /** @type {any} */ (restoreOutcome("before", { kept: RESTORE, stopped: [] }, () => undone++));
  assert.equal(place.querySelector("p").textContent, "The files are those of “before” again. No programs were stopped.");
  place.querySelector("button").click();
  assert.deepEqual([undone, /** @type {any} */ (restoreOutcome("before", { kept: null, stopped: [] }, null)).querySelector("button")], [1, null]);
});
