// The watch over a connection: when it is slow, when it has stalled, and when it answers again.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const { ConnectionWatch, SLOW_MS, STALLED_MS } = await import("/static/stream/connection_watch.js");

/** @type {string[]} */
let told = [];
/** @type {any} */
let watch;

beforeEach((t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  told = [];
  watch = new ConnectionWatch((state) => told.push(state));
});

test("it is slow after two seconds without an answer, and has stalled after five", (t) => {
  assert.deepEqual([SLOW_MS, STALLED_MS], [2000, 5000]);
  watch.asked();
  t.mock.timers.tick(1000);
  watch.asked();
  t.mock.timers.tick(999);
  assert.deepEqual([told, watch.waits], [[], true]);
  t.mock.timers.tick(1);
  assert.deepEqual(told, ["slow"], "the first ping that nobody answered counts");
  t.mock.timers.tick(3000);
  assert.deepEqual(told, ["slow", "stalled"]);
});

test("whatever arrives is an answer, and is told once", (t) => {
  watch.asked();
  t.mock.timers.tick(5000);
  watch.heard();
  watch.heard();
  t.mock.timers.tick(60_000);
  assert.deepEqual([told, watch.waits], [["slow", "stalled", "alive"], false]);
});

test("a connection that answers in time is never spoken of", (t) => {
  for (let second = 0; second < 60; second++) {
    watch.asked();
    t.mock.timers.tick(1000);
    watch.heard();
  }
  assert.deepEqual(told, []);
});

test("another connection begins anew, silently", (t) => {
  watch.asked();
  t.mock.timers.tick(2000);
  watch.reset();
  t.mock.timers.tick(60_000);
  watch.heard();
  assert.deepEqual(told, ["slow"]);
});
