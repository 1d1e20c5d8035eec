// Mouse and wheel over the picture, as places and turns on the desktop.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";

openDocument();
/** @type {(() => void)[]} */
let frames = [];
globals({ navigator: { platform: "Linux", userAgent: "" }, window: globalThis, requestAnimationFrame: (act) => frames.push(act) });
const { Input } = await import("/static/stream/input.js");
const { encode } = await import("/static/stream/wire.js");

/** @type {any} */
let surface;
/** @type {any} */
let input;
/** @type {number[][]} */
let sent = [];

beforeEach(() => {
  [sent, frames] = [[], []];
  surface = new El("div");
  surface.box = { left: 100, top: 50, width: 640, height: 512 };
  input = new Input(surface, /** @type {any} */ (new El("textarea")), () => ({ width: 1280, height: 1024 }), (message) => sent.push([...new Uint8Array(message)]));
  input.enabled = true;
});

/** @param {string} type @param {number} clientX @param {number} clientY @param {number} [buttons] @param {object} [more] */
function mouse(type, clientX, clientY, buttons = 0, more = {}) {
  const event = Object.assign(new Event(type, { cancelable: true }), { clientX, clientY, buttons, pointerType: "mouse", pointerId: 1, ...more });
  surface.dispatchEvent(event);
  return event;
}
/** @param {ArrayBuffer[]} messages */
const bytes = (...messages) => messages.map((message) => [...new Uint8Array(message)]);

test("a place on the page is a place on the desktop, however large the picture is", () => {
  mouse("pointerdown", 100, 50);
  mouse("pointerup", 420, 306);
  mouse("pointerup", 5000, -3);
  assert.deepEqual(sent, bytes(encode.point(0, 0, 0), encode.point(640, 512, 0), encode.point(1279, 0, 0)));
  assert.deepEqual(input.place, { x: 1279, y: 0 });
});

test("the browser's buttons are the stream's: its second is the right one", () => {
  for (const buttons of [1, 2, 4, 8, 16, 3]) mouse("pointerdown", 100, 50, buttons);
  assert.deepEqual(sent.map((message) => message.at(-1)), [1, 4, 2, 8, 16, 5]);
});

test("of many moves in a frame the last is sent", () => {
  for (const x of [110, 120, 130]) mouse("pointermove", x, 50);
  assert.deepEqual([sent.length, frames.length], [0, 1]);
  frames[0]();
  assert.deepEqual(sent, bytes(encode.point(60, 0, 0)));
});

test("a press overtakes the move before it, which is not sent after it", () => {
  mouse("pointermove", 110, 50);
  mouse("pointerdown", 120, 50, 1);
  frames[0]();
  assert.deepEqual(sent, bytes(encode.point(40, 0, 1)));
});

test("fingers are the gestures' alone", () => {
  mouse("pointerdown", 110, 50, 1, { pointerType: "touch" });
  mouse("pointermove", 110, 50, 1, { pointerType: "touch" });
  assert.deepEqual([sent.length, frames.length], [0, 0]);
});

test("the wheel turns by pixels, lines or pages, and no further than a message holds", () => {
  const turn = (deltaX, deltaY, deltaMode) => surface.dispatchEvent(Object.assign(new Event("wheel", { cancelable: true }), { deltaX, deltaY, deltaMode }));
  turn(0, 10.4, 0);
  turn(0, -3, 1);
  turn(1, 0, 2);
  turn(0, 1e9, 0);
  turn(0.2, 0.2, 0);
  assert.deepEqual(sent, bytes(encode.wheel(0, 10), encode.wheel(0, -100), encode.wheel(600, 0), encode.wheel(0, 32767)));
});

test("where it is not enabled nothing is sent and nothing is kept from the page", () => {
  input.enabled = false;
  const event = mouse("pointerdown", 110, 50, 1);
  assert.deepEqual([sent.length, event.defaultPrevented], [0, false]);
});

test("a button that is held is released with everything else", () => {
  mouse("pointerdown", 100, 50, 1);
  input.release();
  input.release();
  assert.deepEqual(sent.slice(1), bytes(encode.point(0, 0, 0)));
});

test("a menu of the browser's does not open over the desktop", () => {
  assert.equal(mouse("contextmenu", 100, 50).defaultPrevented, true);
});
