// The stream's wire and decoders in JavaScript, held to the vectors that those in Python are held to.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Jitter } from "../../sandbox_server/web/view/jitter.js";
import { Joiner, Order } from "../../sandbox_server/web/view/order.js";
import { Picture } from "../../sandbox_server/web/view/picture.js";
import { Rhythm } from "../../sandbox_server/web/view/rhythm.js";
import { parse, say } from "../../sandbox_server/web/view/wire.js";

const { decompress } = await import(process.env.FZSTD);
const vectors = JSON.parse(readFileSync(new URL("../stream/vectors.json", import.meta.url), "utf-8"));

/** @param {string} hex */
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
/** @param {ArrayBuffer} buffer */
const hex = (buffer) => Buffer.from(buffer).toString("hex");

/** @param {Picture} picture */
function digest({ pixels }) {
  const rgb = new Uint8Array(pixels.length * 3);
  pixels.forEach((pixel, index) => rgb.set([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255], index * 3));
  return createHash("sha256").update(rgb).digest("hex");
}

/** @param {Picture} picture @param {import("../../sandbox_server/web/view/wire.js").Operation} operation */
function draw(picture, operation) {
  if (operation.kind === "exact") picture.exact(decompress(operation.packed, new Uint8Array(operation.length)));
  else if (operation.kind === "moves") picture.move(operation.moves);
  else if (operation.kind === "keep") picture.keep(operation.tiles);
  else if (operation.kind === "kept") picture.put(operation.tiles);
  else if (operation.kind === "over") picture.check(operation.areas);
}

test("the golden messages show the golden frames", () => {
  let picture = new Picture(1, 1);
  for (const { message, sha256 } of vectors.shown) {
    const read = parse(bytes(message).buffer);
    if (read.kind === "hello") picture = new Picture(read.width, read.height);
    else if (read.kind === "part") read.operations.forEach((operation) => draw(picture, operation));
    assert.equal(digest(picture), sha256);
  }
});

test("what lies over a film are rects within the picture, and not too many", () => {
  const over = vectors.shown.slice(1).flatMap(({ message }) => parse(bytes(message).buffer).operations.filter(({ kind }) => kind === "over"));
  assert.deepEqual(
    over.slice(0, 3).map(({ number, areas }) => [number, areas.length]),
    [
      [1, 1],
      [0, 2],
      [1, 0],
    ],
  );
  assert.deepEqual(over[1].areas[1], { x: 50, y: 10, width: 9, height: 33 });
  const picture = new Picture(...vectors.size);
  assert.throws(() => picture.check([{ x: 90, y: 0, width: 9, height: 9 }]), RangeError);
  const many = Uint8Array.from([3, 1, 1, 0, 0, 0, 8, 0, 1, 1, ...new Array(257 * 8).fill(1)]);
  assert.throws(() => parse(many.buffer), /so many/);
});

test("what a viewer says has its golden bytes", () => {
  const said = {
    Hello: say.hello(true),
    Ack: say.ack(4_000_000_000, 17, 9),
    Point: say.point(1279, 1023, 5),
    Wheel: say.wheel(-120, 240),
    Key: say.key(0x1000041, true),
    Text: say.text("日本語"),
    Copied: say.copied("text\nof two lines"),
    Ping: say.ping(7),
    Visible: say.visible(false),
    Whole: say.whole(),
    Listens: say.listens(true),
    Clip: say.clip({ "text/html": new TextEncoder().encode("<b>bold</b>"), "text/plain": new TextEncoder().encode("bold") }),
    Signal: say.signal("an offer"),
    Resume: say.resume(4_000_000_000, 70_000),
  };
  assert.deepEqual(Object.fromEntries(Object.entries(said).map(([name, message]) => [name, hex(message)])), vectors.said);
});

test("messages that were damaged or cut off are refused or drawn within the picture", () => {
  let seed = 1;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 2000; round++) {
    const message = bytes(vectors.shown[1 + random(vectors.shown.length - 1)].message);
    for (let times = random(4); times >= 0; times--) message[random(message.length)] = random(256);
    const picture = new Picture(...vectors.size);
    try {
      const read = parse(message.slice(0, random(message.length + 1)).buffer);
      if (read.kind === "part") read.operations.filter(({ length }) => !(length > 1e6)).forEach((operation) => draw(picture, operation));
    } catch (error) {
      assert.ok(error instanceof Error);
    }
    assert.equal(picture.pixels.length, vectors.size[0] * vectors.size[1]);
  }
});

/** When pictures that arrive at these times are seen on a screen that shows 60 a second. @param {number[]} arrivals */
function seen(arrivals) {
  const rhythm = new Rhythm();
  const waiting = [];
  const shown = [];
  for (let refresh = 1, next = 0; next < arrivals.length || waiting.length; refresh++) {
    const now = (refresh * 1000) / 60;
    for (; arrivals[next] <= now; next++) {
      rhythm.arrived(arrivals[next]);
      waiting.push(arrivals[next]);
    }
    rhythm.refreshed(now);
    while (waiting.length && rhythm.isDue(now, waiting[0])) {
      rhythm.shown(now, waiting[0]);
      shown.push({ now, held: now - waiting.shift() });
    }
  }
  return shown;
}

/** @param {number} rate @param {(index: number) => number} late milliseconds */
const arrivals = (rate, late, count = 600) => Array.from({ length: count }, (_, index) => 1000 + (index * 1000) / rate + late(index)).sort((a, b) => a - b);
/** @param {{now: number}[]} shown */
const gaps = (shown) => shown.slice(1).map(({ now }, index) => now - shown[index].now);

test("a film that arrives unevenly is seen in its rhythm", () => {
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const rate of [24, 25, 30]) {
    const shown = seen(arrivals(rate, () => random() * 30));
    const late = gaps(shown.slice(60)).filter((gap) => gap > 1500 / rate + 1).length;
    assert.ok(late < 6, `${late} late at ${rate} a second`);
  }
});

test("what a film waits for is no more than was needed of late", () => {
  const shown = seen(arrivals(30, (index) => (index > 60 && index < 120 ? (index % 7) * 12 : 0), 900));
  assert.ok(shown.every(({ held }) => held < 150));
  assert.ok(shown.slice(-30).every(({ held }) => held < 3 * 17), String(shown.at(-1)?.held));
});

test("what has no rhythm is seen at once", () => {
  const shown = seen(arrivals(5, () => 0, 50));
  assert.ok(shown.every(({ held }) => held < 17));
});

test("frames that come evenly are told from those that come as a person or a program makes them", () => {
  const isEven = (/** @type {number[]} */ times) => {
    const rhythm = new Rhythm();
    times.forEach((time) => rhythm.arrived(time));
    return rhythm.even;
  };
  assert.ok(isEven(arrivals(20, (index) => (index % 5 ? 0 : 35), 60)));
  assert.ok(!isEven(arrivals(20, () => 0, 5)));
  assert.ok(!isEven(arrivals(8, () => 0, 60)));
  assert.ok(!isEven(Array.from({ length: 60 }, (_, index) => 1000 + Math.floor(index / 6) * 400 + (index % 6) * 17)));
});

/** @param {Jitter} jitter @param {number} samples @returns {Float32Array} what is played, on the left */
function played(jitter, samples) {
  const left = new Float32Array(samples);
  jitter.take(left, new Float32Array(samples));
  return left;
}

const TONE = new Float32Array(960).fill(0.5);

test("sound plays once enough of it waits, in its order, and what is missing is silence", () => {
  const jitter = new Jitter();
  jitter.put(1, TONE, TONE);
  assert.deepEqual(played(jitter, 128), new Float32Array(128));
  jitter.put(2, TONE, TONE);
  assert.equal(played(jitter, 128)[0], 0.5);
  const rest = played(jitter, 1920);
  assert.deepEqual([rest[1791], rest[1792]], [0.5, 0]);
});

test("what comes too late makes more wait from then on, and a silence does not", () => {
  const jitter = new Jitter();
  const before = jitter.target;
  for (const number of [1, 2]) jitter.put(number, TONE, TONE);
  played(jitter, 4096);
  jitter.put(50, TONE, TONE);
  assert.equal(jitter.target, before);
  jitter.put(51, TONE, TONE);
  played(jitter, 4096);
  jitter.put(52, TONE, TONE);
  assert.ok(jitter.target > before);
});

test("a long calm makes less wait again, and a heap that arrives at once is cut to what should wait", () => {
  const jitter = new Jitter();
  for (const number of [1, 2]) jitter.put(number, TONE, TONE);
  played(jitter, 4096);
  jitter.put(3, TONE, TONE);
  const most = jitter.target;
  for (let number = 4; number < 1600; number++) {
    jitter.put(number, TONE, TONE);
    played(jitter, 960);
  }
  assert.ok(jitter.target < most);
  for (let number = 1600; number < 1630; number++) jitter.put(number, TONE, TONE);
  assert.ok(jitter.waiting <= jitter.target + 2880);
});

/** @param {number} frame @param {number} part @param {boolean} last */
const part = (frame, part, last) => ({ kind: "part", frame, last, operations: [], part });

test("frames are done in order and once, whichever way they come", () => {
  const order = new Order();
  const size = { kind: "size", width: 4, height: 4 };
  const take = (way, ...messages) => messages.flatMap((message) => order.take(way, message));
  assert.deepEqual(take(1, part(2, 0, true)), []);
  assert.deepEqual(take(0, part(1, 0, false), part(1, 1, true)), [part(1, 0, false), part(1, 1, true), part(2, 0, true)]);
  assert.deepEqual(take(1, size, part(3, 0, false)), [size, part(3, 0, false)]);
  assert.deepEqual(take(0, size, part(3, 0, false), part(3, 1, true)), [part(3, 1, true)]);
  order.forget(1);
  assert.deepEqual(take(1, part(4, 0, true), part(4, 0, true)), [part(4, 0, true)]);
  assert.throws(() => {
    for (let number = 6; number < 30_000; number++) take(0, part(number, 0, true));
  });
});

test("long messages are joined from their pieces", () => {
  const joiner = new Joiner();
  assert.equal(joiner.take(Uint8Array.of(1, 10, 20).buffer), undefined);
  assert.deepEqual(new Uint8Array(joiner.take(Uint8Array.of(0, 30).buffer)), Uint8Array.of(10, 20, 30));
  assert.deepEqual(new Uint8Array(joiner.take(Uint8Array.of(0).buffer)), Uint8Array.of());
  assert.throws(() => joiner.take(Uint8Array.of(2).buffer));
});
