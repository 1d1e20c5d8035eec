// Samples are shortened, lengthened and continued by whole periods.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MS } from "/static/stream/audio_format.js";
import { CONCEALED, TimeStretchBuffer } from "/static/stream/time_stretch.js";

/** A tone of so many hertz. @param {number} count @param {number} [from] @param {number} [hertz] */
const tone = (count, from = 0, hertz = 100) => Float32Array.from({ length: count }, (_, at) => Math.sin(((from + at) * 2 * Math.PI * hertz) / 48000));

/** @param {number} count */
function filled(count) {
  const samples = new TimeStretchBuffer();
  samples.push(tone(count), tone(count));
  return samples;
}

/** @param {TimeStretchBuffer} samples @param {number} [count] */
function taken(samples, count = samples.waiting) {
  const [left, right] = [new Float32Array(count), new Float32Array(count)];
  samples.shift(left, right, count);
  assert.deepEqual(left, right);
  return left;
}

/** @param {Float32Array} sound */
const largestStep = (sound) => sound.slice(1).reduce((most, sample, index) => Math.max(most, Math.abs(sample - sound[index])), 0);
const STEP = Math.sin((2 * Math.PI * 100) / 48000);

test("samples come out as they went in", () => {
  const samples = filled(4800);
  assert.equal(samples.waiting, 4800);
  assert.deepEqual(taken(samples), tone(4800));
  assert.equal(samples.waiting, 0);
});

test("the buffer goes round without a seam", () => {
  const samples = new TimeStretchBuffer();
  for (let from = 0; from < 400_000; from += 960) {
    samples.push(tone(960, from), tone(960, from));
    assert.deepEqual(taken(samples), tone(960, from));
  }
});

test("shortening leaves out one period of the sound, and nobody hears where", () => {
  const samples = filled(4800);
  assert.equal(samples.shorten(), 480);
  assert.equal(samples.waiting, 4320);
  assert.ok(largestStep(taken(samples)) < 1.5 * STEP);
});

test("lengthening does one period again, and nobody hears where", () => {
  const samples = filled(9600);
  taken(samples, 4800);
  assert.equal(samples.lengthen(), 480);
  assert.equal(samples.waiting, 5280);
  assert.ok(largestStep(taken(samples)) < 1.5 * STEP);
});

test("too little sound is neither shortened nor lengthened", () => {
  assert.equal(filled(19 * MS).shorten(), 0);
  assert.equal(filled(4 * MS).lengthen(), 0);
});

test("concealment goes on with the sound, softer and softer, until nothing is heard", () => {
  const samples = filled(4800);
  samples.conceal(CONCEALED + 480);
  assert.equal(samples.concealed, CONCEALED + 480);
  const sound = taken(samples).slice(4800);
  const loudest = (from) => Math.max(...sound.slice(from, from + 480).map(Math.abs));
  assert.ok(loudest(0) > 0.8 && loudest(0) > loudest(960) && loudest(960) > loudest(1920));
  assert.ok(sound.slice(CONCEALED).every((sample) => sample === 0));
});

test("sound that comes after concealment fades in", () => {
  const samples = filled(4800);
  samples.conceal(480);
  const opposite = tone(4800, 5280).map((sample, at) => -sample + 0.5 * Math.cos(at / 100));
  samples.push(opposite, opposite);
  assert.equal(samples.concealed, 0);
  assert.ok(largestStep(taken(samples)) < 2 * STEP);
});

test("many samples are left out at once with a fade", () => {
  const samples = filled(9600);
  samples.skip(4800);
  assert.equal(samples.waiting, 4800);
  assert.deepEqual(taken(samples).slice(5 * MS), tone(4800 - 5 * MS, 4800 + 5 * MS));
});
