// "Go back to before this" of the recorder.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { control } from "../bar/control.mjs";
import { FIRST, RESTORE } from "../checkpoints/kept.mjs";

openDocument();
location.search = "?lang=en";
const { askToGoBack, checkpointMarks, openCheckpoint } = await import("/static/recorder/going_back.js");

/** @type {any} */
let panel;
/** @type {any} */
let place;
/** @type {any[]} */
let done = [];
/** @type {any} */
const ROW = { n: 7, from: 1500, at: 1501, entries: [{ n: 7, at: 1501, kind: "command", actor: { type: "agent", name: "key" }, operation: "bash.exec", outcome: "ok" }] };

beforeEach(() => {
  done = [];
  place = document.createElement("div");
  panel = { hidden: false, rights: { make: true, look: false }, bar: Object.assign(new EventTarget(), { lease: { now: control() } }), showPopover: () => done.push("shown"), ask: async (/** @type {string} */ id) => done.push(id) };
  answering((method, path) => {
    if (path === "/v1/checkpoints") return { head: null, checkpoints: [FIRST, RESTORE] };
    if (path.startsWith("/v1/recorder")) return { events: [] };
    return method === "POST" ? { kept: RESTORE, stopped: [] } : { stops: [{ command: "bash" }], changed: true };
  });
});

test("it names the state from before the entry, and asks", async () => {
  await askToGoBack(panel, ROW, place);
  await settled();
  assert.match(place.textContent, /^Go back to “before the upgrade”\?The last checkpoint before this is of .*8 minutes earlier\..*It stops 1 program: bash\./);
});

test("afterwards the way back opens the panel at what was kept", async () => {
  await askToGoBack(panel, ROW, place);
  await settled();
  place.querySelector(".plan").querySelectorAll(".tools button")[0].click();
  await settled();
  assert.match(place.textContent, /The files are those of “before the upgrade” again/);
  place.querySelector("button").click();
  assert.deepEqual(done, ["shown", RESTORE.id]);
});

test("it can be left, and what cannot be known is told", async () => {
  await askToGoBack(panel, ROW, place);
  place.querySelector(".plan").querySelectorAll(".tools button")[1].click();
  assert.equal(place.textContent, "");
  answering(() => refusing(409, "there is no box here"));
  await askToGoBack(panel, ROW, place);
  assert.match(place.textContent, /runs without a box/);
});

test("the checkpoints that there are become marks, which open the panel", async () => {
  assert.deepEqual(await checkpointMarks(), [
    { from: 1000, until: 1000, kind: "checkpoint", title: "before the upgrade", id: FIRST.id },
    { from: 3000, until: 3000, kind: "checkpoint", title: "Before going back to “before the upgrade”", id: RESTORE.id },
  ]);
  openCheckpoint(panel, FIRST.id);
  panel.hidden = true;
  openCheckpoint(panel, RESTORE.id);
  assert.deepEqual(done, ["shown", FIRST.id]);
});
