// The microphone: what is said is encoded and sent, silence and a muted microphone are not.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";

/** @type {any} */
let encoder;
/** @type {any} */
let node;
let stopped = 0;

globals({
  AudioContext: class {
    audioWorklet = { addModule: async () => undefined };
    createMediaStreamSource() {
      return { connect: () => undefined };
    }
    async resume() {}
    close() {}
  },
  AudioWorkletNode: class {
    port = /** @type {any} */ ({});
    constructor() {
      node = this;
    }
  },
  AudioEncoder: class {
    state = "configured";
    encoded = [];
    constructor(callbacks) {
      Object.assign(this, callbacks);
      encoder = this;
    }
    configure(config) {
      Object.assign(this, { config });
    }
    encode({ timestamp, numberOfFrames }) {
      this.encoded.push([timestamp, numberOfFrames]);
    }
    close() {
      this.state = "closed";
    }
  },
  AudioData: class {
    constructor(data) {
      Object.assign(this, data);
    }
    close() {}
  },
  navigator: { mediaDevices: { getUserMedia: async () => ({ getTracks: () => [{ stop: () => stopped++ }] }) } },
});
const { Microphone, canRecordAudio } = await import("/static/stream/microphone.js");

/** @type {any[]} */
let sent = [];
/** @type {any} */
let microphone;

beforeEach(async () => {
  [sent, stopped] = [[], 0];
  microphone = new Microphone((number, packet) => sent.push([number, [...packet]]));
});

const say = () => node.port.onmessage({ data: new Float32Array(960) });
/** @param {number} timestamp @param {number[]} bytes */
const encoded = (timestamp, ...bytes) => encoder.output({ timestamp, byteLength: bytes.length, copyTo: (to) => to.set(bytes) });

test("it is encoded as speech of one channel", () => {
  const { opus, numberOfChannels, sampleRate } = encoder.config;
  assert.deepEqual([opus.application, opus.frameDuration, opus.usedtx, numberOfChannels, sampleRate], ["voip", 20_000, true, 1, 48_000]);
});

test("while it is muted nothing is encoded, and the numbers go on", async () => {
  await microphone.start();
  say();
  say();
  microphone.muted = false;
  say();
  assert.deepEqual(encoder.encoded, [[60_000, 960]]);
});

test("packets are sent with their numbers, silence is not", async () => {
  await microphone.start();
  microphone.muted = false;
  encoded(20_000, 1, 2, 3);
  encoded(40_000, 0xf8, 0xff);
  encoded(60_000, 4, 5, 6);
  microphone.muted = true;
  encoded(80_000, 7, 8, 9);
  assert.deepEqual(sent, [[1, [1, 2, 3]], [3, [4, 5, 6]]]);
});

test("closing it lets go of the microphone, also while the person is still asked", async () => {
  await microphone.start();
  microphone.close();
  assert.deepEqual([stopped, encoder.state], [1, "closed"]);
  say();
  assert.deepEqual(encoder.encoded, []);

  const asked = new Microphone(() => undefined);
  const started = asked.start();
  asked.close();
  await started;
  assert.equal(stopped, 2);
});

test("a refusal is the caller's to tell", async () => {
  Object.assign(navigator.mediaDevices, { getUserMedia: () => Promise.reject(new DOMException("denied", "NotAllowedError")) });
  await assert.rejects(microphone.start(), { name: "NotAllowedError" });
});

test("a page that is not encrypted is given no microphone", () => {
  assert.equal(canRecordAudio(), true);
  globals({ navigator: {} });
  assert.equal(canRecordAudio(), false);
});
