// Packets of sound: each is heard once, and what is lost is counted.

import assert from "node:assert/strict";
import { test } from "node:test";

import { AudioReceiver } from "/static/stream/audio_receiver.js";
import { parse } from "/static/stream/wire.js";
import { bytes, hex, vectors } from "./vectors.mjs";

/** What is read of messages of sound. @param {string[]} messages in hexadecimal */
function packetsOf(messages) {
  const receiver = new AudioReceiver();
  return messages.map((message) => receiver.take(/** @type {any} */ (parse(bytes(message).buffer))).map(({ number, packet }) => [number, hex(packet)]));
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
      const found = new AudioReceiver().take(/** @type {any} */ (parse(message.slice(0, 1 + random(message.length)).buffer)));
      assert.ok(found.every(({ number, packet }) => number >= 0 && packet instanceof Uint8Array));
    } catch (error) {
      assert.ok(error instanceof Error);
    }
  }
});

/** @param {number} sequence @param {number} first @param {number} count of packets */
const sounds = (sequence, first, count) => ({ kind: "sounds", sequence, first, packets: Array.from({ length: count }, (_, index) => Uint8Array.of(first + index)) });

test("what was lost is told by the share of the messages, and nothing where none was", () => {
  const heard = new AudioReceiver();
  for (let number = 65530; number < 65580; number++) heard.take(sounds(number % 65536, number, 1));
  assert.equal(heard.fractionLost(), 0);
  for (const number of [44, 45, 47, 46, 49, 53]) heard.take(sounds(number, 65536 + number, 1));
  assert.equal(heard.fractionLost(), Math.ceil((4 / 10) * 255));
  assert.equal(heard.fractionLost(), 0);
});

test("what is sent again is heard if it was lost, and what comes too late or from before is not", () => {
  const heard = new AudioReceiver();
  const take = (...message) => heard.take(sounds(...message)).map(({ number }) => number);
  assert.deepEqual([take(1, 1, 1), take(3, 2, 2), take(2, 2, 1), take(6, 4, 3), take(7, 5, 3)], [[1], [2, 3], [], [4, 5, 6], [7]]);
  assert.deepEqual(heard.take({ kind: "sound", number: 7, packet: Uint8Array.of() }), []);
  assert.equal(heard.take({ kind: "sound", number: 2000, packet: Uint8Array.of() }).length, 1);
  assert.equal(heard.take({ kind: "sound", number: 1, packet: Uint8Array.of() }).length, 1);
});
