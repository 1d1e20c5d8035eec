// The timeline: who drove, a lane for each actor, marks where they did something, bands of private time, and the moment of a click.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { Timeline } = await import("/static/recorder/timeline.js");
const AGENT = { type: "agent", name: "key" };
const ME = { type: "person", name: "owner#4fdfc3" };
const ANN = { type: "person", name: "ann" };

/** @type {any} */
let place;
/** @type {any} */
let timeline;
/** @type {number[]} */
let sought = [];

beforeEach(() => {
  sought = [];
  place = document.createElement("div");
  body.replaceChildren(place);
  timeline = new Timeline(place, (at) => sought.push(at));
});

/** @param {object} actor @param {number} at @param {object} [more] @returns {any} */
const entry = (actor, at, more = {}) => ({ n: at, at, kind: "command", actor, ...more });
/** @param {any[]} entries @param {any[]} [recordings] @param {object} [more] */
const show = (entries, recordings = [], more = {}) => timeline.show(entries, recordings, { drives: [], hidden: [], me: ME.name, until: 1000, ...more });
const lanes = () => place.children.map((lane) => [lane.dataset.driver, lane.querySelector(".name").textContent, lane.querySelectorAll(".mark").length]);
const marks = (/** @type {number} */ lane) => place.children[lane].querySelectorAll(".mark");

test("who drives has the first lane, each actor one in order of appearance, the recordings the last", () => {
  show([entry(AGENT, 910), entry(ME, 920), entry(ANN, 925), entry(AGENT, 930)], [{ name: "a", start: 905, end: 940, over: true, pinned: false }]);
  assert.deepEqual(lanes(), [["drives", "Who drives", 0], ["agent", "Agent · key", 2], ["you", "You · owner · 4fdf", 1], ["other", "Person · ann", 1], ["recordings", "Video", 1]]);
});

test("a lane is of one name: a receipt is of who changed something, and what names no agent is the only one's", () => {
  const receipt = entry({ type: "system", name: "recorder" }, 950, { kind: "receipt", receipt: { person: "ann" } });
  show([entry({ type: "agent", name: "unknown" }, 905), entry({ type: "system", name: "clock" }, 906), entry(AGENT, 910), entry({ type: "system", name: "other" }, 907), receipt]);
  assert.deepEqual(lanes().map(([driver, , marks]) => [driver, marks]), [["drives", 0], ["agent", 2], ["other", 1], ["system", 2], ["recordings", 0]]);
  show([entry({ type: "agent", name: "unknown" }, 905), entry(AGENT, 910), entry({ type: "agent", name: "second" }, 920)]);
  assert.deepEqual(lanes().map(([driver]) => driver), ["drives", "agent", "agent", "agent", "recordings"]);
});

test("who drove is drawn in the driver's colour", () => {
  show([entry(AGENT, 900)], [], {
    drives: [
      { from: 100, until: 920, state: "agent", holder: null },
      { from: 920, until: 940, state: "human", holder: ME.name },
      { from: 940, until: 960, state: "human", holder: "ann" },
      { from: 960, until: 980, state: "frozen", holder: null },
      { from: 980, until: 1000, state: "shared", holder: null },
    ],
  });
  const drawn = marks(0).map(({ dataset, style }) => [dataset.kind, Math.round(parseFloat(style.left)), Math.round(parseFloat(style.width))]);
  assert.deepEqual(drawn, [["agent", 0, 20], ["you", 20, 20], ["other", 40, 20], ["paused", 60, 20], ["shared", 80, 20]]);
});

test("private time is a band through every lane", () => {
  show([entry(AGENT, 900), entry(ANN, 950)], [], { hidden: [{ from: 925, until: 950, who: "ann" }, { from: 10, until: 20, who: "ann" }] });
  assert.deepEqual(place.children.map((lane) => lane.querySelectorAll(".private").length), [1, 1, 1, 1]);
  const band = place.querySelector(".private");
  assert.deepEqual([band.style.left, band.style.width, band.title], ["25%", "25%", "Private: ann had hidden the screen."]);
});

test("the width is from the first event until the given edge, and a minute at least", () => {
  show([]);
  assert.deepEqual([timeline.from, timeline.until], [940, 1000]);
  show([entry(AGENT, 900, { ms: 20_000 })]);
  assert.deepEqual([timeline.from, timeline.until], [880, 1000], "an event began before it was told");
  show([entry(AGENT, 1010)]);
  assert.equal(timeline.until, 1010);
});

test("a mark is as long as its event took, and begins at the edge at the earliest", () => {
  show([entry(AGENT, 940), entry(AGENT, 980, { ms: 30_000 })], [{ name: "a", start: 100, end: 970, over: true, pinned: false }, { name: "old", start: 10, end: 20, over: true, pinned: false }]);
  assert.deepEqual([marks(1)[1].style.left, marks(1)[1].style.width], ["16.666666666666664%", "50%"]);
  assert.deepEqual(marks(2).map(({ style }) => [style.left, style.width]), [["0%", "50%"]], "what ended before the first event is not shown");
});

test("a terminal that was merely open has no length", () => {
  show([entry(AGENT, 900), entry(ANN, 990, { operation: "shell.terminal", ms: 80_000 }), entry(ANN, 991, { kind: "call", socket: true, ms: 80_000 })]);
  assert.deepEqual([timeline.from, ...marks(2).map(({ style }) => style.width)], [900, "0%", "0%"]);
});

test("marks that could not be told apart are one, but for checkpoints and requests", () => {
  const many = Array.from({ length: 5000 }, (_, index) => entry(AGENT, 900 + index / 50));
  show([...many.slice(0, 2500), entry(AGENT, 950, { kind: "checkpoint" }), entry(AGENT, 950, { kind: "handoff" }), ...many.slice(2500)]);
  assert.deepEqual(marks(1).map(({ dataset }) => dataset.kind), [undefined, "checkpoint", "handoff", undefined]);
});

test("a moment and its share of the width are the same thing", () => {
  show([entry(AGENT, 900)]);
  assert.equal(timeline.at(0.25), 925);
  assert.equal(timeline.part(925), 0.25);
  timeline.point(950);
  assert.deepEqual(place.querySelectorAll(".now").map(({ style }) => style.left), ["50%", "50%", "50%"]);
  timeline.point(5000);
  assert.equal(place.querySelector(".now").style.left, "100%");
});

test("a click on a lane seeks its moment, one beside it does not", () => {
  show([entry(AGENT, 900)]);
  const track = place.querySelector(".track");
  track.box = { left: 200, top: 0, width: 400, height: 20 };
  track.dispatchEvent(Object.assign(new Event("click", { bubbles: true }), { clientX: 300 }));
  place.querySelector(".name").click();
  assert.deepEqual(sought, [925]);
});

test("the checkpoints that there are have a lane, and a click on one opens it", () => {
  /** @type {string[]} */
  const opened = [];
  place = document.createElement("div");
  timeline = new Timeline(place, (at) => sought.push(at), (id) => opened.push(id));
  show([entry(AGENT, 950)], [], { checkpoints: [{ from: 960, until: 960, kind: "checkpoint", title: "<b>", id: "aaaaaaaa" }, { from: 10, until: 10, kind: "checkpoint", id: "old" }] });
  assert.deepEqual(lanes().map(([driver, , marks]) => [driver, marks]), [["drives", 0], ["agent", 1], ["checkpoints", 1], ["recordings", 0]]);
  const [mark] = marks(2);
  assert.equal(mark.title, "<b>");
  mark.dispatchEvent(Object.assign(new Event("click", { bubbles: true }), { clientX: 50 }));
  assert.deepEqual([opened, sought.length], [["aaaaaaaa"], 1]);
});

test("connections have a lane of their own, in which refusals stand out and a burst of them is one mark", () => {
  const egress = (/** @type {number} */ at, /** @type {string} */ action) => entry({ type: "system", name: "egress" }, at, { kind: "egress", event: "connections", action });
  show([entry(AGENT, 910), egress(920, "allow"), egress(930, "deny"), egress(930.001, "deny")]);
  assert.deepEqual(lanes().slice(1, -1), [["agent", "Agent · key", 1], ["network", "Network", 2]]);
  assert.deepEqual(marks(2).map(({ dataset }) => dataset.kind), [undefined, "refused"]);
});
