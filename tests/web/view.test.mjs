// The stream's wire and decoders in JavaScript, held to the vectors that those in Python are held to.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Jitter } from "../../sandbox_server/web/stream/jitter.js";
import { Joiner, Order } from "../../sandbox_server/web/stream/order.js";
import { Picture } from "../../sandbox_server/web/stream/picture.js";
import { Rhythm } from "../../sandbox_server/web/stream/rhythm.js";
import { Sounds } from "../../sandbox_server/web/stream/sounds.js";
import { parse, say } from "../../sandbox_server/web/stream/wire.js";

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

/** @param {Picture} picture @param {import("../../sandbox_server/web/stream/wire.js").Operation} operation */
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

test("what somebody else did is read from its golden bytes", () => {
  const plain = { kind: "acted", times: 1, keys: "", path: [] };
  assert.deepEqual(vectors.acted.map((message) => parse(bytes(message).buffer)), [
    { ...plain, what: 1, times: 2, x: 1279, y: 1023 },
    { ...plain, what: 5, x: 7, y: 8 },
    { ...plain, what: 16, x: 3, y: 4, path: [{ x: 1, y: 2 }, { x: 3, y: 4 }] },
    { ...plain, what: 17, x: 5, y: 6, keys: "Ctrl+→" },
    { ...plain, what: 18, x: 5, y: 6 },
  ]);
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
    Missed: say.missed(26),
    Spoken: say.spoken(4_000_000_000, Uint8Array.of(0xf8, 0xff, 0xfe)),
    Clip: say.clip({ "text/html": new TextEncoder().encode("<b>bold</b>"), "text/plain": new TextEncoder().encode("bold") }),
    Signal: say.signal("an offer"),
    Resume: say.resume(4_000_000_000, 70_000),
    Fit: say.fit(1917, 1003),
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

/** What is read of messages of sound. @param {string[]} messages in hexadecimal */
function packetsOf(messages) {
  const sounds = new Sounds();
  return messages.map((message) => sounds.take(/** @type {any} */ (parse(bytes(message).buffer))).map(({ number, packet }) => [number, hex(packet)]));
}

test("the golden messages of sound are heard, each packet once", () => {
  assert.deepEqual(packetsOf(vectors.heard.map(({ message }) => message)), vectors.heard.map(({ packets }) => packets));
});

test("messages of sound that were damaged or cut off are refused, or packets", () => {
  let seed = 3;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 2000; round++) {
    const message = bytes(vectors.heard[random(vectors.heard.length)].message);
    for (let times = random(4); times >= 0; times--) message[1 + random(message.length - 1)] = random(256);
    try {
      const found = new Sounds().take(/** @type {any} */ (parse(message.slice(0, 1 + random(message.length)).buffer)));
      assert.ok(found.every(({ number, packet }) => number >= 0 && packet instanceof Uint8Array));
    } catch (error) {
      assert.ok(error instanceof Error);
    }
  }
});

/** @param {number} sequence @param {number} first @param {number} count of packets */
const sounds = (sequence, first, count) => ({ kind: "sounds", sequence, first, packets: Array.from({ length: count }, (_, index) => Uint8Array.of(first + index)) });

test("what was lost is told by the share of the messages, and nothing where none was", () => {
  const heard = new Sounds();
  for (let number = 65530; number < 65580; number++) heard.take(sounds(number % 65536, number, 1));
  assert.equal(heard.missed(), 0);
  for (const number of [44, 45, 47, 46, 49, 53]) heard.take(sounds(number, 65536 + number, 1));
  assert.equal(heard.missed(), Math.ceil((4 / 10) * 255));
  assert.equal(heard.missed(), 0);
});

test("what is sent again is heard if it was lost, and what comes too late or from before is not", () => {
  const heard = new Sounds();
  const take = (...message) => heard.take(sounds(...message)).map(({ number }) => number);
  assert.deepEqual([take(1, 1, 1), take(3, 2, 2), take(2, 2, 1), take(6, 4, 3), take(7, 5, 3)], [[1], [2, 3], [], [4, 5, 6], [7]]);
  assert.deepEqual(heard.take({ kind: "sound", number: 7, packet: Uint8Array.of() }), []);
  assert.equal(heard.take({ kind: "sound", number: 2000, packet: Uint8Array.of() }).length, 1);
  assert.equal(heard.take({ kind: "sound", number: 1, packet: Uint8Array.of() }).length, 1);
});

/** By so much the clock of refreshes is ahead. */
const ELSEWHEN = 123_456;

/**
 * When pictures that arrive at these times are seen on a screen that shows 60 a second.
 * @param {number[]} arrivals
 * @param {() => number} heard milliseconds after which a refresh is heard of
 */
function seen(arrivals, heard = () => 0) {
  const rhythm = new Rhythm();
  const waiting = [];
  const shown = [];
  for (let refresh = 1, next = 0; next < arrivals.length || waiting.length; refresh++) {
    const at = (refresh * 1000) / 60;
    const now = at + heard();
    for (; arrivals[next] <= now; next++) {
      rhythm.arrived(arrivals[next]);
      waiting.push(arrivals[next]);
    }
    if (!waiting.length) continue; // then nobody asks for the next refresh
    const told = rhythm.refreshed(now, at + ELSEWHEN);
    if (rhythm.isDue(told, waiting[0])) {
      rhythm.shown(told, waiting[0]);
      shown.push({ now: at, held: at - waiting.shift() });
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

test("a thread that hears late of refreshes shows a film in its rhythm, and as soon", () => {
  let seed = 11;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (const rate of [24, 25, 29.97, 30]) {
    const shown = seen(arrivals(rate, () => random() * 8, 3000), () => (random() < 0.1 ? random() * 14 : random() * 2));
    const late = gaps(shown.slice(60)).filter((gap) => gap > 1500 / rate - 1).length;
    assert.ok(late < 6, `${late} late at ${rate} a second`);
    assert.ok(shown.every(({ held }) => held < 90));
  }
});

test("what a film waits for is no more than was needed of late", () => {
  const shown = seen(arrivals(30, (index) => (index > 60 && index < 120 ? (index % 7) * 12 : 0), 900));
  assert.ok(shown.every(({ held }) => held < 150));
  assert.ok(shown.slice(-30).every(({ held }) => held < 3 * 17), String(shown.at(-1)?.held));
});

test("pictures of a rhythm that are seen late are counted, and those after a pause are not", () => {
  const rhythm = new Rhythm();
  const times = [0, 33, 66, 99, 132, 165, 198, 231, 264, 330, 363, 396, 2000, 2033, 2066];
  for (const time of times) {
    rhythm.arrived(time);
    rhythm.shown(time, time);
  }
  assert.equal(rhythm.late, 1);
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

const PACKET = 960;
const TONE_STEP = (2 * Math.PI * 440) / 48000;

/** A packet of a tone that goes on from one to the next. @param {number} number */
const tone = (number) => Float32Array.from({ length: PACKET }, (_, at) => 0.5 * Math.sin((number * PACKET + at) * TONE_STEP));

/**
 * What is heard of packets that arrive at these times.
 * @param {{number: number, at: number}[]} arrivals in milliseconds
 */
function heard(arrivals) {
  const jitter = new Jitter();
  const [sound, waiting, targets] = [[], [], []];
  const queue = [...arrivals].sort((one, other) => one.at - other.at);
  const end = queue[queue.length - 1].at;
  for (let samples = 0; samples < end * 48; samples += 128) {
    for (; queue.length && queue[0].at * 48 <= samples; queue.shift()) jitter.put(queue[0].number, tone(queue[0].number), tone(queue[0].number));
    const left = new Float32Array(128);
    jitter.take(left, new Float32Array(128));
    sound.push(...left);
    waiting.push(jitter.waiting);
    targets.push(jitter.target);
  }
  return { sound, waiting, targets };
}

/** Packets that come every 20 ms, each so many milliseconds late. @param {number} count @param {(number: number) => number} late */
const packets = (count, late) => Array.from({ length: count }, (_, number) => ({ number, at: number * 20 + late(number) }));
/** Those that were sent in a row and wait for each other, as over TCP. @param {{number: number, at: number}[]} sent */
const inOrder = (sent) => sent.map(({ number }, index) => ({ number, at: Math.max(...sent.slice(Math.max(0, index - 50), index + 1).map(({ at }) => at)) }));
/** Samples of silence after it began to play. @param {number[]} sound */
const silent = (sound) => sound.slice(sound.findIndex((sample) => sample !== 0) + 1).filter((sample, index, all) => sample === 0 && all[index - 1] === 0).length;
/** The largest step between two samples. @param {number[]} sound */
const step = (sound) => sound.slice(1).reduce((most, sample, index) => Math.max(most, Math.abs(sample - sound[index])), 0);
/** @param {number[]} sound @returns {number} hertz, by how often it crosses zero */
const pitch = (sound) => (sound.slice(1).filter((sample, index) => sample >= 0 && sound[index] < 0).length * 48000) / sound.length;

test("sound that comes evenly is played as it is, and little of it waits", () => {
  const { sound, waiting, targets } = heard(packets(200, () => 0));
  const begun = sound.findIndex((sample) => sample !== 0) - 1;
  assert.deepEqual(sound.slice(begun, begun + 48000), [...Array(50).keys()].flatMap((number) => [...tone(number)]));
  assert.ok(Math.max(...waiting, ...targets) <= 2 * PACKET);
});

test("as much of it waits as it comes unevenly, and less again when it comes evenly", () => {
  let seed = 5;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const { sound, waiting, targets } = heard(inOrder(packets(1500, (number) => (number < 400 ? random() * 120 : 0))));
  const [second, uneven] = [375, 3000]; // of takes
  assert.ok(targets[uneven] > 100 * 48 && targets[uneven] < 145 * 48, String(targets[uneven]));
  assert.equal(silent(sound.slice(2 * second * 128)), 0);
  assert.equal(targets.at(-1), 40 * 48);
  assert.ok(Math.max(...waiting.slice(-second)) < 60 * 48);
});

test("nobody hears where sound was made longer or shorter", () => {
  const { sound } = heard(inOrder(packets(1200, (number) => (number > 200 && number < 260 ? (number % 6) * 15 : 0))));
  const settled = sound.slice(9600, 48000 * 23);
  assert.ok(step(settled) < 3 * 0.5 * TONE_STEP, String(step(settled)));
  assert.ok(Math.abs(pitch(settled) - 440) < 3, String(pitch(settled)));
});

test("what was lost is the sound before it, and takes its time", () => {
  const { sound, waiting } = heard(packets(400, () => 0).filter(({ number }) => number % 20 !== 7));
  const settled = sound.slice(9600, -9600);
  assert.equal(silent(settled), 0);
  assert.ok(step(settled) < 3 * 0.5 * TONE_STEP, String(step(settled)));
  assert.ok(Math.min(...waiting.slice(-1000)) > 0);
});

test("what is late for long is faded out, and waits longer before it plays again", () => {
  const { sound, targets } = heard(inOrder(packets(300, (number) => (number > 100 && number <= 107 ? (107 - number) * 20 + 150 : 0))));
  assert.ok(silent(sound.slice(96000)) > 48 * 20);
  assert.ok(step(sound) < 0.05);
  assert.ok(targets.at(-1) > 100 * 48);
});

test("a page whose clock goes slower than the desktop's, since its machine is busy, lets little wait", () => {
  const { sound, waiting, targets } = heard(packets(1500, (number) => -number)); // 5 % slower
  assert.ok(Math.max(...targets) <= 125 * 48, String(Math.max(...targets)));
  assert.ok(Math.max(...waiting.slice(-3750)) < 160 * 48, String(Math.max(...waiting.slice(-3750))));
  assert.equal(silent(sound), 0);
});

test("a silence that was not sent makes nothing else wait", () => {
  const { targets } = heard(packets(400, () => 0).filter(({ number }) => number < 100 || number > 200));
  assert.equal(Math.max(...targets), 2 * PACKET);
});

test("of a heap that arrives at once what is late is left out", () => {
  const { waiting } = heard(packets(400, (number) => (number > 100 && number < 150 ? (150 - number) * 20 : 0)));
  assert.ok(Math.max(...waiting) < 520 * 48);
  assert.ok(Math.max(...waiting.slice(-100)) <= 320 * 48);
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
