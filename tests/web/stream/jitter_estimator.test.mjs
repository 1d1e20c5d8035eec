// The jitter of packets that arrive at known times.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MS, PACKET } from "/static/stream/audio_format.js";
import { JitterEstimator } from "/static/stream/jitter_estimator.js";

/** @param {number} count @param {(number: number) => number} late milliseconds */
function after(count, late) {
  const estimator = new JitterEstimator();
  for (let number = 0; number < count; number++) estimator.add(number, number * PACKET + late(number) * MS);
  return estimator;
}

test("packets that come evenly have none, whenever they were sent", () => {
  assert.equal(after(200, () => 0).percentile, 0);
  assert.equal(after(200, () => 5000).percentile, 0);
});

test("it is what the latest of a hundred packets came later than the soonest", () => {
  const estimator = after(500, (number) => (number % 50 === 49 ? 80 : number % 2 ? 10 : 0));
  assert.equal(estimator.percentile, 80 * MS);
  assert.equal(estimator.latest, 80 * MS);
});

test("one packet in a hundred may be late without counting", () => {
  assert.equal(after(500, (number) => (number % 125 === 99 ? 200 : 0)).percentile, 0);
});

test("what was long ago is forgotten", () => {
  assert.equal(after(700, (number) => (number < 150 ? number % 3 * 30 : 0)).percentile, 0);
});

test("a clock that drifts is no jitter beyond what it drifts in two seconds", () => {
  assert.ok(after(2000, (number) => number * 0.1).percentile <= 10.1 * MS);
});

test("a jump of more than a second begins anew", () => {
  const estimator = after(300, (number) => (number % 3) * 20);
  estimator.add(100_000, 300 * PACKET);
  assert.deepEqual([estimator.percentile, estimator.latest], [0, 0]);
});
