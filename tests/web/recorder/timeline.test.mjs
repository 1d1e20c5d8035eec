// The timeline: a lane for each actor, marks where they did something, and the moment of a click.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { Timeline } = await import("/static/recorder/timeline.js");
const NOW = 1000;
const AGENT = { type: "agent", name: "key" };
const ANN = { type: "person", name: "ann" };

/** @type {any} */
let place;
/** @type {any} */
let timeline;
/** @type {number[]} */
let sought = [];

beforeEach((t) => {
  t.mock.method(Date, "now", () => NOW * 1000);
  sought = [];
  place = document.createElement("div");
  body.replaceChildren(place);
  timeline = new Timeline(place, (at) => sought.push(at));
});

/** @param {object} actor @param {number} at @param {number} [ms] @returns {any} */
const entry = (actor, at, ms) => ({ n: at, at, kind: "command", actor, ms });
const lanes = () => place.children.map((lane) => [lane.dataset.actor, lane.querySelector(".name").textContent, lane.querySelectorAll(".mark").length]);

test("each actor has a lane in order of appearance, and the recordings have the last", () => {
  timeline.show([entry(AGENT, 910), entry(ANN, 920), entry(AGENT, 930)], [{ name: "a", start: 905, end: 940, over: true, pinned: false }]);
  assert.deepEqual(lanes(), [["agent", "Agent · key", 2], ["person", "Person · ann", 1], ["recordings", "Filmed", 1]]);
});

test("the width is from the first event until now, and a minute at least", () => {
  timeline.show([], []);
  assert.deepEqual([timeline.from, timeline.until], [940, 1000]);
  timeline.show([entry(AGENT, 900, 20_000)], []);
  assert.deepEqual([timeline.from, timeline.until], [880, 1000], "an event began before it was told");
});

test("a mark is as long as its event took, and begins at the edge at the earliest", () => {
  timeline.show([entry(AGENT, 950, 30_000)], [{ name: "a", start: 100, end: 970, over: true, pinned: false }, { name: "old", start: 10, end: 20, over: true, pinned: false }]);
  const [event, recording, ...others] = place.querySelectorAll(".mark");
  assert.deepEqual([event.style.left, event.style.width], ["0%", "37.5%"]);
  assert.deepEqual([recording.style.left, recording.style.width], ["0%", "62.5%"]);
  assert.equal(others.length, 0, "what ended before the first event is not shown");
});

test("a moment and its share of the width are the same thing", () => {
  timeline.show([entry(AGENT, 900)], []);
  assert.equal(timeline.at(0.25), 925);
  assert.equal(timeline.part(925), 0.25);
  timeline.point(950);
  assert.deepEqual(place.querySelectorAll(".now").map(({ style }) => style.left), ["50%", "50%"]);
});

test("a click on a lane seeks its moment, one beside it does not", () => {
  timeline.show([entry(AGENT, 900)], []);
  const track = place.querySelector(".track");
  track.box = { left: 200, top: 0, width: 400, height: 20 };
  track.dispatchEvent(Object.assign(new Event("click", { bubbles: true }), { clientX: 300 }));
  place.querySelector(".name").click();
  assert.deepEqual(sought, [925]);
});
