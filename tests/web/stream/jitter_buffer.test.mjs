// The jitter buffer plays evenly what arrives unevenly.

import assert from "node:assert/strict";
import { test } from "node:test";

import { JitterBuffer } from "/static/stream/jitter_buffer.js";

const PACKET = 960;
const TONE_STEP = (2 * Math.PI * 440) / 48000;

/** A packet of a tone that goes on from one to the next. @param {number} number */
const tone = (number) => Float32Array.from({ length: PACKET }, (_, at) => 0.5 * Math.sin((number * PACKET + at) * TONE_STEP));

/**
 * What is heard of packets that arrive at these times.
 * @param {{number: number, at: number}[]} arrivals in milliseconds
 */
function heard(arrivals) {
  const jitter = new JitterBuffer();
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
  const { targets, waiting } = heard(packets(400, () => 0).filter(({ number }) => number < 100 || number > 200));
  assert.equal(Math.max(...targets), 2 * PACKET);
  assert.ok(Math.max(...waiting) <= 3 * PACKET, String(Math.max(...waiting)));
});

test("of a heap that arrives at once what is late is left out", () => {
  const { waiting } = heard(packets(400, (number) => (number > 100 && number < 150 ? (150 - number) * 20 : 0)));
  assert.ok(Math.max(...waiting) < 520 * 48);
  assert.ok(Math.max(...waiting.slice(-100)) <= 320 * 48);
});

test("after it ran dry it begins again once as much waits as should", () => {
  const { waiting, sound } = heard(packets(300, () => 0).filter(({ number }) => number < 100 || number > 150));
  const resumed = sound.findIndex((sample, at) => at > 130 * PACKET && sample !== 0);
  const before = waiting[Math.floor(resumed / 128)] + 128;
  assert.ok(before >= 2 * PACKET, String(before));
});
