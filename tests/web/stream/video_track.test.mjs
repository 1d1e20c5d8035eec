// Video on a track: the page is told where it lies, and its frames are waited for.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_NEVER_SHOWN, MAX_NOT_SHOWN, SHOW_TIMEOUT_MS, VideoTrack, isReached } from "/static/stream/video_track.js";

const AREA = { x: 64, y: 32, width: 320, height: 256 };

function tracked() {
  /** @type {any[]} */
  const told = [];
  return { told, track: new VideoTrack((message) => told.push(message), () => told.push("failed")) };
}

test("RTP timestamps wrap around", () => {
  assert.ok(isReached(5, 5));
  assert.ok(isReached(3, 0xfffffff0));
  assert.ok(!isReached(0xfffffff0, 3));
});

test("the overlays of the video that is shown are told", () => {
  const { told, track } = tracked();
  track.overlay(0, [AREA]);
  track.place({ number: 0, area: AREA, timestamp: 1 });
  track.overlay(1, []);
  track.overlay(0, [AREA]);
  assert.deepEqual(told.slice(1), [{ kind: "track", do: "overlay", areas: [AREA] }]);
  track.stop();
});

test("a place is told once, and each picture when it is seen", async () => {
  const { told, track } = tracked();
  const seen = [1000, 4000, 7000].map((timestamp) => track.place({ number: 0, area: { ...AREA }, timestamp }));
  track.presented({ timestamp: 4000, age: 12 });
  assert.deepEqual(await Promise.all(seen.slice(0, 2)), [12, 12]);
  track.presented({ timestamp: undefined, age: undefined });
  assert.equal(await seen[2], undefined);
  const moved = { ...AREA, width: 640 };
  track.presented({ timestamp: 9000, age: 5 });
  assert.equal(await track.place({ number: 0, area: moved, timestamp: 8000 }), undefined);
  assert.deepEqual(told, [
    { kind: "track", do: "place", area: AREA, timestamp: 1000 },
    { kind: "track", do: "place", area: moved, timestamp: 8000 },
  ]);
});

test("a picture that never comes holds nothing up for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { track } = tracked();
  const seen = track.place({ number: 0, area: AREA, timestamp: 1 });
  t.mock.timers.tick(SHOW_TIMEOUT_MS);
  assert.equal(await seen, undefined);
});

test("a browser that shows nothing of a track is asked to take none, one that showed some later", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const most of [MAX_NEVER_SHOWN, MAX_NOT_SHOWN]) {
    const { told, track } = tracked();
    const waits = (/** @type {number} */ count) => {
      for (let number = 0; number < count; number++) track.place({ number: 0, area: AREA, timestamp: number });
      t.mock.timers.tick(SHOW_TIMEOUT_MS);
    };
    if (most === MAX_NOT_SHOWN) track.presented({ timestamp: undefined, age: undefined });
    waits(most - 1);
    assert.equal(told.length, 1);
    waits(1);
    assert.deepEqual(told.slice(1), ["failed"]);
  }
});

test("the end of a video region hides the element, unless another has begun", () => {
  const { told, track } = tracked();
  track.place({ number: 0, area: AREA, timestamp: 1 });
  const ended = track.end(0);
  track.place({ number: 0, area: AREA, timestamp: 2 });
  ended();
  track.end(1)();
  assert.equal(told.length, 2);
  track.end(0)();
  track.stop();
  assert.deepEqual(told.slice(2), [{ kind: "track", do: "end" }]);
  track.place({ number: 1, area: AREA, timestamp: 3 });
  track.stop();
  assert.deepEqual(told.slice(4), [{ kind: "track", do: "end" }]);
});
