// Frames are paced at the intervals at which they were made.

import assert from "node:assert/strict";
import { test } from "node:test";

import { FramePacer } from "/static/stream/frame_pacer.js";

/** By so much the clock of refreshes is ahead. */
const ELSEWHEN = 123_456;

/**
 * When pictures that arrive at these times are seen on a screen that shows 60 a second.
 * @param {number[]} arrivals
 * @param {() => number} heard milliseconds after which a refresh is heard of
 */
function seen(arrivals, heard = () => 0) {
  const pacer = new FramePacer();
  const waiting = [];
  const shown = [];
  for (let refresh = 1, next = 0; next < arrivals.length || waiting.length; refresh++) {
    const at = (refresh * 1000) / 60;
    const now = at + heard();
    for (; arrivals[next] <= now; next++) {
      pacer.arrived(arrivals[next]);
      waiting.push(arrivals[next]);
    }
    if (!waiting.length) continue; // then nobody asks for the next refresh
    const told = pacer.refreshed(now, at + ELSEWHEN);
    if (pacer.isDue(told, waiting[0])) {
      pacer.shown(told, waiting[0]);
      shown.push({ now: at, held: at - waiting.shift() });
    }
  }
  return shown;
}

/** @param {number} rate @param {(index: number) => number} late milliseconds */
const arrivals = (rate, late, count = 600) => Array.from({ length: count }, (_, index) => 1000 + (index * 1000) / rate + late(index)).sort((a, b) => a - b);
/** @param {{now: number}[]} shown */
const gaps = (shown) => shown.slice(1).map(({ now }, index) => now - shown[index].now);

test("video that arrives unevenly is shown at its own intervals", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const rate of [24, 25, 30]) {
    const shown = seen(arrivals(rate, () => random() * 30));
    const late = gaps(shown.slice(60)).filter((gap) => gap > 1500 / rate + 1).length;
    assert.ok(late < 6, `${late} late at ${rate} a second`);
  }
});

test("a thread whose callbacks are late shows video at its own intervals, and as soon", () => {
  let seed = 11;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const rate of [24, 25, 29.97, 30]) {
    const shown = seen(arrivals(rate, () => random() * 8, 3000), () => (random() < 0.1 ? random() * 14 : random() * 2));
    const late = gaps(shown.slice(60)).filter((gap) => gap > 1500 / rate - 1).length;
    assert.ok(late < 6, `${late} late at ${rate} a second`);
    assert.ok(shown.every(({ held }) => held < 90));
  }
});

test("video waits no longer than was needed lately", () => {
  const shown = seen(arrivals(30, (index) => (index > 60 && index < 120 ? (index % 7) * 12 : 0), 900));
  assert.ok(shown.every(({ held }) => held < 150));
  assert.ok(shown.slice(-30).every(({ held }) => held < 3 * 17), String(shown.at(-1)?.held));
});

test("late frames are counted, and those after a pause are not", () => {
  const pacer = new FramePacer();
  const times = [0, 33, 66, 99, 132, 165, 198, 231, 264, 330, 363, 396, 2000, 2033, 2066];
  for (const time of times) {
    pacer.arrived(time);
    pacer.shown(time, time);
  }
  assert.equal(pacer.late, 1);
});

test("frames at long intervals are shown at once", () => {
  const shown = seen(arrivals(5, () => 0, 50));
  assert.ok(shown.every(({ held }) => held < 17));
});

test("frames that come evenly are told from those that come as a person or a program makes them", () => {
  const isEven = (/** @type {number[]} */ times) => {
    const pacer = new FramePacer();
    times.forEach((time) => pacer.arrived(time));
    return pacer.even;
  };
  assert.ok(isEven(arrivals(20, (index) => (index % 5 ? 0 : 35), 60)));
  assert.ok(!isEven(arrivals(20, () => 0, 5)));
  assert.ok(!isEven(arrivals(8, () => 0, 60)));
  assert.ok(!isEven(Array.from({ length: 60 }, (_, index) => 1000 + Math.floor(index / 6) * 400 + (index % 6) * 17)));
});

test("no frame waits for longer than 120 ms, whatever was due", () => {
  const pacer = new FramePacer();
  for (let time = 0; time < 1000; time += 100) pacer.arrived(time);
  pacer.shown(1100, 1000);
  pacer.shown(1101, 1001);
  assert.equal(pacer.isDue(1110, 1002), false);
  assert.equal(pacer.isDue(1121, 1002), false);
  assert.equal(pacer.isDue(1122, 1002), true);
});
