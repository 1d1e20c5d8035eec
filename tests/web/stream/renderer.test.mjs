// The renderer: parts of frames are applied in order, and a frame is drawn when it is whole.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, recordingContext } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { bytes, vectors } from "./vectors.mjs";

/** A decoder of the browser's that has each frame at once. */
class Decoder {
  /** @type {Decoder[]} */
  static made = [];
  state = "configured";
  constructor({ output }) {
    /** @type {any} */ (this).output = output;
    Decoder.made.push(this);
  }
  configure() {}
  decode() {
    const frame = { close: () => ((/** @type {any} */ (this).frameClosed = true)) };
    setImmediate(() => /** @type {any} */ (this).output(frame));
  }
  close() {
    this.state = "closed";
  }
}

globals({
  ImageData: class {},
  VideoDecoder: Decoder,
  EncodedVideoChunk: class {},
  requestAnimationFrame: (act) => setImmediate(() => act(performance.now())),
});
const { Renderer } = await import("/static/stream/renderer.js");
const { parse } = await import("/static/stream/wire.js");

const AREA = { x: 0, y: 0, width: 32, height: 32 };
/** @type {any} */
let context;
/** @type {any} */
let renderer;
/** @type {any[]} */
let tracked = [];

beforeEach(async () => {
  tracked = [];
  Decoder.made.length = 0;
  context = recordingContext();
  const track = {
    place: (frame) => (tracked.push(["place", frame.timestamp]), Promise.resolve(12)),
    overlay: (number, areas) => tracked.push(["overlay", number, areas.length]),
    end: (number) => () => tracked.push(["end", number]),
    stop: () => tracked.push("stop"),
  };
  renderer = new Renderer(/** @type {any} */ ({ getContext: () => context }), /** @type {any} */ (track));
  await renderer.resize(64, 48);
  context.calls.length = 0;
});

/** What was drawn since it was asked last, by the method's name. */
const drawn = () => context.calls.splice(0).map(([name, ...given]) => (name === "putImageData" ? ["framebuffer", ...given.slice(3)] : ["video", ...given.slice(1)]));
/** @param {object[]} operations @param {boolean} [last] */
const take = (operations, last = true) => renderer.take({ last, operations });
const moves = (...areas) => ({ kind: "moves", moves: new DataView(Uint16Array.from(areas.flatMap(({ x, y, width, height }) => [x, y, x, y, width, height])).buffer) });
/** @param {object} [more] */
const video = (more) => ({ kind: "video", number: 1, key: true, area: AREA, body: Uint8Array.of(1), ...more });

test("a size makes a framebuffer, the same again does not", async () => {
  assert.equal(await renderer.resize(64, 48), false);
  assert.equal(await renderer.resize(48, 64), true);
  assert.deepEqual([renderer.canvas.width, renderer.canvas.height], [48, 64]);
});

test("the golden frames are drawn, whichever operations they have", async () => {
  const [hello, ...parts] = vectors.shown.map(({ message }) => parse(bytes(message).buffer));
  await renderer.resize(hello.width, hello.height);
  for (const part of parts) if (part.kind === "part") await renderer.take({ ...part, operations: part.operations.filter(({ kind }) => !["jpeg", "video"].includes(kind)) });
  await settled();
  assert.ok(drawn().length > 0);
});

test("nothing is drawn before the last part of a frame, and then what has changed", async () => {
  await take([moves(AREA)], false);
  assert.deepEqual(drawn(), []);
  await take([moves({ ...AREA, x: 32, height: 16 })]);
  await settled();
  assert.deepEqual(drawn(), [["framebuffer", 0, 0, 32, 32], ["framebuffer", 32, 0, 32, 16]]);
});

test("many changes are drawn as the rect around them", async () => {
  await take([moves(...Array.from({ length: 25 }, (_, at) => ({ x: at, y: 2, width: 1, height: 3 })))]);
  await settled();
  assert.deepEqual(drawn(), [["framebuffer", 0, 2, 25, 3]]);
});

test("video is drawn over the framebuffer, and what lies over the video over that", async () => {
  await take([video(), { kind: "over", number: 1, areas: [{ x: 4, y: 4, width: 2, height: 2 }] }]);
  await settled();
  assert.deepEqual(drawn(), [["video", 0, 0, 32, 32], ["framebuffer", 4, 4, 2, 2]]);
  assert.deepEqual(tracked.slice(1), [["overlay", 1, 1]]);
});

test("where video ends, the framebuffer is seen again, and its decoder is closed", async () => {
  await take([video()]);
  await settled();
  drawn();
  await take([{ kind: "video ends", number: 1 }]);
  await settled();
  assert.deepEqual([drawn(), Decoder.made[0].state], [[["framebuffer", 0, 0, 32, 32]], "closed"]);
  assert.deepEqual(tracked.at(-1), ["end", 1]);
});

test("a video that begins again under the same number has a decoder of its own", async () => {
  await take([video()]);
  await take([{ kind: "video ends", number: 1 }, video()]);
  await settled();
  assert.deepEqual(Decoder.made.map(({ state }) => state), ["closed", "configured"]);
});

test("a frame with video on the track is shown when the track's picture is", async () => {
  const { tracked: byTrack, age } = await take([{ kind: "tracked", number: 0, area: AREA, timestamp: 3000 }]);
  assert.deepEqual([byTrack, age, tracked.at(-1)], [true, 12, ["place", 3000]]);
  const other = await take([moves(AREA)]);
  assert.deepEqual([other.tracked, other.age], [false, undefined]);
});

test("the codec map is noted where it is asked for", async () => {
  assert.deepEqual((await take([moves(AREA)])).map, []);
  renderer.mapped = true;
  await take([moves(AREA)], false);
  assert.deepEqual((await take([video()])).map, [{ kind: "moves", area: AREA }, { kind: "video", area: AREA }]);
});

test("an operation outside the framebuffer is refused, and the frame after it is done", async () => {
  await assert.rejects(take([moves({ x: 60, y: 0, width: 9, height: 1 })]), RangeError);
  await take([moves(AREA)]);
  await settled();
  assert.ok(drawn().some(([, ...area]) => String(area) === "0,0,32,32"));
});

test("another size ends every video", async () => {
  await take([video()]);
  await settled();
  await renderer.resize(80, 60);
  assert.deepEqual([Decoder.made[0].state, tracked.at(-1)], ["closed", "stop"]);
});

test("frames of a video that come evenly wait for their turn, and none while the person acts", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const waits = [];
  for (let frame = 0; frame < 40; frame++) {
    now = frame * 33 + (frame % 2) * 20;
    if (frame === 30) renderer.noteInput();
    const taken = take([video({ key: !frame })]);
    let refreshes = 0;
    globals({ requestAnimationFrame: (act) => setImmediate(() => (refreshes++, (now += 4), act(now))) });
    await taken;
    await settled();
    await settled();
    waits.push(refreshes);
  }
  assert.ok(Math.max(...waits.slice(10, 30)) > 1, String(waits));
  assert.equal(Math.max(...waits.slice(30)), 0, String(waits));
});

test("what lies over a video has to be within the framebuffer", async () => {
  await assert.rejects(take([video(), { kind: "over", number: 1, areas: [{ x: 60, y: 0, width: 5, height: 1 }] }]), RangeError);
});
