// The codec map: each rect is drawn with its codec's colour and fades.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument, recordingContext } from "../browser/dom.mjs";

openDocument();
const { CodecMap } = await import("/static/stream/codec_map.js");
const AREA = { x: 8, y: 16, width: 32, height: 64 };

test("rects are drawn until they have faded", (t) => {
  /** @type {(() => void)[]} */
  const frames = [];
  const now = t.mock.method(performance, "now", () => 0);
  globals({ requestAnimationFrame: (act) => frames.push(act), cancelAnimationFrame: () => {} });
  const screen = document.createElement("div");
  const map = /** @type {any} */ (new CodecMap(screen, { width: 100, height: 50 }));
  assert.deepEqual([screen.firstElementChild, map.canvas.width, map.canvas.height], [map.canvas, 100, 50]);
  const context = map.canvas.context = recordingContext();
  const drawn = () => context.calls.splice(0).filter(([name]) => name === "fillRect").map(([, ...area]) => area);

  map.show([{ kind: "video", area: AREA }]);
  map.show([{ kind: "exact", area: AREA }]);
  assert.equal(frames.length, 1, "one frame for both");
  frames.shift()();
  assert.deepEqual([drawn(), context.fillStyle], [[[8, 16, 32, 64], [8, 16, 32, 64]], "#2ecc71"]);
  now.mock.mockImplementation(() => 300);
  frames.shift()();
  assert.ok(Math.abs(context.globalAlpha - 0.25 / 3) < 1e-9);
  now.mock.mockImplementation(() => 601);
  context.calls.length = 0;
  frames.shift()();
  assert.deepEqual([drawn(), frames.length], [[], 0]);
});

test("every codec has a colour of its own", () => {
  const colours = ["exact", "moves", "jpeg", "video", "kept"].map((kind) => {
    /** @type {(() => void)[]} */
    const frames = [];
    globals({ requestAnimationFrame: (act) => frames.push(act) });
    const map = /** @type {any} */ (new CodecMap(document.createElement("div"), { width: 1, height: 1 }));
    const context = (map.canvas.context = recordingContext());
    map.show([{ kind, area: AREA }]);
    frames[0]();
    return context.fillStyle;
  });
  assert.ok(colours.every((colour) => /^#[0-9a-f]{6}$/.test(colour)));
  assert.equal(new Set(colours).size, 5);
});
