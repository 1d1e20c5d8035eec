// Messages of the stream, held to the golden vectors.

import assert from "node:assert/strict";
import { test } from "node:test";

import { encode, isInput, parse } from "/static/stream/wire.js";
import { bytes, hex, vectors } from "./vectors.mjs";

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

test("what acts on the desktop or its clipboard is input, and what the viewer says of itself is not", () => {
  const input = [encode.point(1, 2, 0), encode.wheel(0, 1), encode.key(1, true), encode.text("a"), encode.copied("a"), encode.clip({ "text/plain": Uint8Array.of(1) })];
  const other = [encode.ping(1), encode.visible(true), encode.listens(true), encode.ack(1, 1, 1), encode.fit(1, 1), encode.whole(), encode.resume(1, 1)];
  assert.deepEqual([input.every(isInput), other.some(isInput)], [true, false]);
});

test("what a viewer says has its golden bytes", () => {
  const said = {
    Hello: encode.hello(true),
    Ack: encode.ack(4_000_000_000, 17, 9),
    Point: encode.point(1279, 1023, 5),
    Wheel: encode.wheel(-120, 240),
    Key: encode.key(0x1000041, true),
    Text: encode.text("日本語"),
    Copied: encode.copied("text\nof two lines"),
    Ping: encode.ping(7),
    Visible: encode.visible(false),
    Whole: encode.whole(),
    Listens: encode.listens(true),
    Missed: encode.missed(26),
    Spoken: encode.spoken(4_000_000_000, Uint8Array.of(0xf8, 0xff, 0xfe)),
    Clip: encode.clip({ "text/html": new TextEncoder().encode("<b>bold</b>"), "text/plain": new TextEncoder().encode("bold") }),
    Signal: encode.signal("an offer"),
    Resume: encode.resume(4_000_000_000, 70_000),
    Fit: encode.fit(1917, 1003),
  };
  assert.deepEqual(Object.fromEntries(Object.entries(said).map(([name, message]) => [name, hex(message)])), vectors.said);
});

test("video on a track is an area and a timestamp", () => {
  const body = [3, 1, 1, 0, 0, 0, 4, 2, 2, 64, 0, 32, 0, 64, 1, 0, 1, 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe];
  const part = parse(Uint8Array.from(body).buffer);
  assert.deepEqual(part.operations, [{ kind: "tracked", number: 2, area: { x: 64, y: 32, width: 320, height: 256 }, timestamp: 0xfeffffff }]);
  assert.throws(() => parse(Uint8Array.from([...body.slice(0, 17), 5, 0, 0, 0, 1, 2, 3, 4, 5]).buffer), /a timestamp has four bytes/);
});

test("a message with more than it has to have is none, and so is one of no kind", () => {
  assert.throws(() => parse(Uint8Array.of(9, 1, 0).buffer), /too long/);
  assert.throws(() => parse(Uint8Array.of(5, 1, 0).buffer), /cut off/);
  for (const kind of [0, 14, 16, 255]) assert.throws(() => parse(Uint8Array.of(kind).buffer), /there is no message/);
  assert.throws(() => parse(Uint8Array.of(3, 1, 1, 0, 0, 0, 9).buffer), /there is no operation 9/);
  assert.throws(() => parse(Uint8Array.of(12, 4, 0, 0, 0, 0).buffer), /no such type/);
});

test("at most 256 rects lie over a video region", () => {
  const overlays = (count) => Uint8Array.from([3, 1, 1, 0, 0, 0, 8, 0, count & 255, count >> 8, ...new Array(count * 8).fill(1)]).buffer;
  assert.equal(parse(overlays(256)).operations[0].areas.length, 256);
  assert.throws(() => parse(overlays(257)), /too many/);
});
