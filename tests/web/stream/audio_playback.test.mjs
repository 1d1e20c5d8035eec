// Playback of sound: packets are decoded and go to the worklet with their numbers.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";

/** @type {any[]} */
let played = [];
/** @type {any[]} */
const decoders = [];
/** @type {string[]} */
const modules = [];

globals({
  AudioContext: class {
    audioWorklet = { addModule: async (url) => void modules.push(String(url).split("/").slice(-2).join("/")) };
    async resume() {}
    close() {
      /** @type {any} */ (this).closed = true;
    }
  },
  AudioWorkletNode: class {
    port = { postMessage: (message, moved) => played.push([message, moved.length]) };
    connect() {}
  },
  AudioDecoder: class {
    state = "configured";
    decoded = [];
    constructor(callbacks) {
      Object.assign(this, callbacks);
      decoders.push(this);
    }
    configure(config) {
      Object.assign(this, { config });
    }
    decode(chunk) {
      this.decoded.push(chunk);
    }
    close() {
      this.state = "closed";
    }
  },
  EncodedAudioChunk: class {
    constructor(chunk) {
      Object.assign(this, chunk);
    }
  },
});
const { AudioPlayback, canPlayAudio } = await import("/static/stream/audio_playback.js");

beforeEach(() => {
  decoders.length = 0;
  played = [];
});

/** What a decoder gives. @param {number} timestamp @param {number[][]} planes @returns {any} */
const sound = (timestamp, planes) => ({
  timestamp,
  numberOfFrames: planes[0].length,
  numberOfChannels: planes.length,
  copyTo: (to, { planeIndex }) => to.set(planes[planeIndex]),
  close() {
    this.closed = true;
  },
});

test("a packet is decoded at 48 kHz and goes to the worklet as two channels", async () => {
  const playback = new AudioPlayback();
  await playback.start();
  assert.deepEqual(modules, ["stream/playback_worklet.js"]);
  playback.play(7, Uint8Array.of(1, 2));
  const [decoder] = decoders;
  assert.deepEqual(decoder.config, { codec: "opus", sampleRate: 48000, numberOfChannels: 2 });
  assert.equal(decoder.decoded[0].timestamp, 140_000);
  const decoded = sound(140_000, [[1, 2], [3, 4]]);
  decoder.output(decoded);
  const [[{ number, left, right }, moved]] = played;
  assert.deepEqual([number, [...left], [...right], moved, decoded.closed, playback.heard], [7, [1, 2], [3, 4], 2, true, 1]);
});

test("sound of one channel is heard on both sides", async () => {
  const playback = new AudioPlayback();
  await playback.start();
  playback.play(0, Uint8Array.of(1));
  decoders[0].output(sound(0, [[5]]));
  assert.deepEqual([...played[0][0].left, ...played[0][0].right], [5, 5]);
});

test("a decoder that has failed is replaced with the next packet", () => {
  const playback = new AudioPlayback();
  playback.play(0, Uint8Array.of(1));
  decoders[0].close();
  playback.play(1, Uint8Array.of(1));
  assert.deepEqual(decoders.map(({ decoded }) => decoded.length), [1, 1]);
});

test("closing it closes the decoder and the context", () => {
  const playback = new AudioPlayback();
  playback.play(0, Uint8Array.of(1));
  playback.close();
  assert.deepEqual([decoders[0].state, /** @type {any} */ (playback.context).closed], ["closed", true]);
});

test("a page that is not encrypted has no decoder, and cannot play", () => {
  assert.equal(canPlayAudio(), true);
  globals({ AudioDecoder: undefined });
  assert.equal(canPlayAudio(), false);
});
