// Touch gestures, as buttons and turns of the wheel.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";

globals({ navigator: {} });
const { TouchGestures } = await import("/static/stream/touch_gestures.js");
const [LEFT, RIGHT] = [1, 4];

/** @type {any[]} */
let done = [];
let place = { x: 50, y: 60 };
/** @type {any} */
let touch;
let now = 0;

beforeEach((t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", () => now);
  [done, now, place] = [[], 0, { x: 50, y: 60 }];
  touch = new TouchGestures({
    place: () => place,
    point: ({ x, y }, buttons) => {
      place = { x, y };
      done.push([x, y, buttons]);
    },
    wheel: (dx, dy) => done.push(["wheel", dx, dy]),
  });
});

/** An event with fingers at these places. @param {...number[]} fingers @returns {any} */
const fingers = (...fingers) => ({
  touches: fingers.map(([clientX, clientY]) => ({ clientX, clientY })),
  cancelable: true,
  preventDefault() {
    this.prevented = true;
  },
});

/** @param {number} x @param {number} y */
function tap(x, y) {
  touch.start(fingers([x, y]));
  touch.end(fingers());
}

test("a tap clicks where it is", () => {
  tap(10, 20);
  assert.deepEqual(done, [[10, 20, 0], [10, 20, LEFT], [10, 20, 0]]);
});

test("a second tap nearby soon after clicks where the first did, so that it is a double click", () => {
  tap(10, 20);
  now = 200;
  tap(24, 33);
  assert.deepEqual(done.slice(3), [[10, 20, 0], [10, 20, LEFT], [10, 20, 0]]);
  now = 1000;
  tap(24, 33);
  assert.deepEqual(done[6], [24, 33, 0]);
});

test("a long press clicks the right button, and the rest of the touch does nothing", (t) => {
  touch.start(fingers([10, 20]));
  t.mock.timers.tick(500);
  assert.deepEqual(done, [[10, 20, 0], [10, 20, RIGHT], [10, 20, 0]]);
  touch.move(fingers([80, 90]));
  touch.end(fingers());
  assert.equal(done.length, 3);
});

test("a finger that moves drags what it touched", () => {
  touch.start(fingers([10, 20]));
  touch.move(fingers([14, 20]));
  assert.deepEqual(done, [], "it may still be a tap");
  touch.move(fingers([40, 20]));
  touch.move(fingers([60, 30]));
  touch.end(fingers());
  assert.deepEqual(done, [[10, 20, 0], [10, 20, LEFT], [40, 20, LEFT], [60, 30, LEFT], [60, 30, 0]]);
});

test("on a trackpad a finger moves the pointer from where it is, and a tap clicks there", () => {
  touch.trackpad = true;
  touch.start(fingers([200, 200]));
  touch.move(fingers([220, 200]));
  assert.deepEqual(done.map(([x, y, buttons]) => [Math.round(x), y, buttons]), [[78, 60, 0]]);
  touch.end(fingers());
  tap(5, 5);
  assert.deepEqual(done.slice(1).map(([x, , buttons]) => [Math.round(x), buttons]), [[78, 0], [78, LEFT], [78, 0]]);
});

test("on a trackpad a touch right after a tap drags", () => {
  touch.trackpad = true;
  tap(5, 5);
  now = 200;
  touch.start(fingers([5, 5]));
  touch.move(fingers([30, 5]));
  touch.end(fingers());
  const [pressed, moved, released] = done.slice(-3).map(([, , buttons]) => buttons);
  assert.deepEqual([pressed, moved, released], [LEFT, LEFT, 0]);
});

test("two fingers in parallel scroll, and the page does not", () => {
  touch.start(fingers([10, 10]));
  touch.start(fingers([10, 10], [30, 10]));
  const move = fingers([10, 40], [30, 40]);
  touch.move(move);
  assert.deepEqual([done, move.prevented], [[["wheel", 0, -30]], true]);
  touch.end(fingers());
  assert.equal(done.length, 1, "no tap comes of it");
});

test("two fingers that part are the browser's zoom", () => {
  touch.start(fingers([10, 10], [30, 10]));
  const move = fingers([0, 10], [40, 10]);
  touch.move(move);
  touch.move(fingers([0, 60], [40, 60]));
  assert.deepEqual([done, move.prevented], [[], undefined]);
});

test("a drag that is cancelled releases its button", () => {
  touch.start(fingers([10, 20]));
  touch.move(fingers([40, 20]));
  touch.cancel();
  assert.deepEqual(done.at(-1), [40, 20, 0]);
});
