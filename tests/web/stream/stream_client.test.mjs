// The stream client, with a server that is the test: what it says, when it acknowledges, and how it comes back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, recordingContext } from "../browser/dom.mjs";
import { answering, settled, Socket } from "../browser/network.mjs";
import { bytes, vectors } from "./vectors.mjs";

openDocument();
globals({ WebSocket: Socket, ImageData: class {}, VideoDecoder: undefined, requestAnimationFrame: (act) => setImmediate(() => act(performance.now())) });
const { StreamClient } = await import("/static/stream/stream_client.js");
const { encode } = await import("/static/stream/wire.js");

/** @type {any[]} */
let posted = [];
/** @type {any} */
let client;

beforeEach(async (t) => {
  posted = [];
  Socket.opened.length = 0;
  answering(() => new Response(null, { status: 503 }));
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  client = new StreamClient(/** @type {any} */ ({ getContext: () => recordingContext() }), "ws://box.test/stream/socket", (message) => posted.push(message));
  await client.start();
  Socket.last.open();
});

/** @param {ArrayBuffer[]} messages */
const list = (...messages) => messages.map((message) => [...new Uint8Array(message)]);
const sent = () => list(...Socket.last.sent.splice(0));
/** @param {number[]} message */
const tell = (...message) => Socket.last.tell(Uint8Array.from(message).buffer);
const [DRIVES, HIDDEN] = [2, 4];
const hello = (rights = 1, version = 1) => tell(1, version, rights, 9, 0, 0, 0, 64, 0, 48, 0);
/** A whole frame of one part that changes nothing. @param {number} number */
const frame = (number) => tell(3, 1, number, 0, 0, 0);
const of = (kind) => posted.filter((message) => message.kind === kind);

test("it says hello, and whether it decodes H.264", () => {
  assert.deepEqual(sent(), list(encode.hello(false)));
  assert.deepEqual(posted, [{ kind: "state", state: "connecting" }]);
  assert.equal(client.channels.takesTrack, true, "what it cannot decode it takes as a track");
});

test("it is connected once a frame was shown, and not before", async () => {
  hello();
  await settled();
  assert.deepEqual(of("size"), [{ kind: "size", width: 64, height: 48 }]);
  assert.equal(of("state").length, 1);
  frame(1);
  await settled();
  assert.deepEqual(of("state").at(-1), { kind: "state", state: "connected" });
});

test("the golden frames are shown and acknowledged", async (t) => {
  for (const { message } of vectors.shown) Socket.last.tell(bytes(message).buffer);
  await settled();
  t.mock.timers.tick(300);
  assert.deepEqual(of("error"), []);
  assert.ok(sent().some(([kind]) => kind === 2));
});

test("a small frame is acknowledged a little later, a large one at once", async (t) => {
  hello();
  sent();
  frame(1);
  frame(2);
  await settled();
  assert.deepEqual(sent(), []);
  t.mock.timers.tick(300);
  assert.deepEqual(sent().map((message) => message.slice(0, 5)), [[2, 2, 0, 0, 0]]);
  const jpegless = [3, 1, 3, 0, 0, 0, 2, 86, 0, ...new Array(86).fill([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]).flat()];
  tell(...jpegless);
  await settled();
  assert.deepEqual(sent().map(([kind, number]) => [kind, number]), [[2, 3]]);
});

test("rights are told by name", () => {
  hello(DRIVES | HIDDEN);
  assert.deepEqual(of("rights"), [{ kind: "rights", control: false, driving: true, hidden: true, microphone: false }]);
  tell(7, 9);
  assert.deepEqual(of("rights")[1], { kind: "rights", control: true, driving: false, hidden: false, microphone: true });
});

test("what else the server tells goes to the page", () => {
  tell(5, 10, 0, 20, 0);
  tell(9, 1);
  assert.deepEqual(posted.slice(1), [{ kind: "pointer", x: 10, y: 20 }, { kind: "desktop", running: true }]);
});

test("each packet of sound is told once", () => {
  tell(10, 5, 0, 0, 0, 1, 2);
  tell(10, 5, 0, 0, 0, 1, 2);
  assert.deepEqual(of("sound").map(({ number, packet }) => [number, [...packet]]), [[5, [1, 2]]]);
});

test("lost sound is told to the server once a second", (t) => {
  for (const sequence of [1, 2, 5]) tell(13, sequence, 0, sequence, 0, 0, 0, 1, 0, 7);
  sent();
  t.mock.timers.tick(1000);
  assert.ok(sent().some((message) => String(message) === String(list(encode.missed(Math.ceil((2 / 5) * 255)))[0])));
});

test("a lost connection comes back with its session and its last frame, later each time", async (t) => {
  hello();
  frame(1);
  await settled();
  for (const wait of [250, 500, 1000, 2000, 4000, 4000]) {
    const before = Socket.opened.length;
    Socket.last.end(1006, "gone");
    assert.deepEqual(of("state").at(-1), { kind: "state", state: "lost", code: 1006, reason: "gone" });
    t.mock.timers.tick(wait - 1);
    assert.equal(Socket.opened.length, before);
    t.mock.timers.tick(1);
    assert.equal(Socket.opened.length, before + 1);
  }
  Socket.last.open();
  assert.deepEqual(sent(), list(encode.resume(9, 1), encode.hello(false)));
  hello();
  const before = Socket.opened.length;
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  assert.equal(Socket.opened.length, before + 1, "soon again once it was answered");
});

test("a message that is none closes the connection", async () => {
  hello();
  frame(1);
  tell(3, 1, 2, 0, 0, 0, 2, 1, 0, 60, 0, 0, 0, 60, 0, 0, 0, 9, 0, 9, 0);
  await settled();
  assert.match(of("error")[0].reason, /outside the framebuffer/);
  assert.equal(Socket.last.readyState, 3);
});

test("another version of the protocol is not spoken", () => {
  hello(1, 2);
  assert.deepEqual([Socket.last.readyState, of("rights")], [3, []]);
});

test("what was said on a socket that is gone is not heard", async () => {
  const first = Socket.last;
  await client.start();
  first.tell(Uint8Array.of(9, 1).buffer);
  first.end(1006);
  assert.deepEqual([of("desktop"), of("state").filter(({ state }) => state === "lost")], [[], []]);
});

test("statistics are told each second, with the round trip of a ping", (t) => {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  hello();
  t.mock.timers.tick(1000);
  const [ping] = sent().filter(([kind]) => kind === 8);
  now += 30;
  tell(6, ...ping.slice(1));
  t.mock.timers.tick(1000);
  assert.ok(!sent().some(([kind]) => kind === 16), "where nothing was lost, nothing is told of it");
  const [first, second] = of("statistics");
  assert.deepEqual([first.bytes, second.roundTrip, second.bytes, second.datagrams], [11, 30, 5, false]);
});

test("what the person does is sent, and nothing before there is a connection", () => {
  sent();
  client.sendInput(encode.key(0x61, true));
  Socket.last.readyState = 0;
  client.sendInput(encode.key(0x61, false));
  assert.deepEqual(sent(), list(encode.key(0x61, true)));
});

test("when the channels end, the last acknowledgement is repeated on the WebSocket", async (t) => {
  hello();
  frame(1);
  await settled();
  t.mock.timers.tick(300);
  const [acknowledged] = sent().filter(([kind]) => kind === 2);
  tell(11, 0);
  tell(11, 2);
  assert.deepEqual(sent(), [acknowledged]);
});

test("a ping goes out each second, by the WebSocket while an earlier one has no answer", (t) => {
  hello();
  sent();
  client.channels.send = (message) => new Uint8Array(message)[0] === 8; // it takes each ping, and loses it
  t.mock.timers.tick(1000);
  assert.deepEqual(sent(), []);
  t.mock.timers.tick(1000);
  assert.deepEqual(sent(), list(encode.ping(2)));
});

/** @param {any} t @param {number} milliseconds by steps, so that timers that others set are due in their time */
function pass(t, milliseconds) {
  for (let passed = 0; passed < milliseconds; passed += 250) t.mock.timers.tick(250);
}

/** A connection whose picture is shown, and whose server says nothing from then on. @param {any} t */
async function stalled(t) {
  hello();
  frame(1);
  await settled();
  pass(t, 6000);
  return Socket.opened[0];
}
const states = () => of("state").map(({ state }) => state);

test("a connection that answers no ping is slow, then stalled, and nothing that the person does is sent", async (t) => {
  const first = await stalled(t);
  assert.deepEqual(states(), ["connecting", "connected", "slow", "stalled"]);
  first.sent.length = 0;
  for (const input of [encode.key(0x61, true), encode.point(1, 2, 1), encode.text("a"), encode.copied("b"), encode.wheel(0, 1)]) client.sendInput(input);
  client.sendSpeech(encode.spoken(1, Uint8Array.of(1)));
  assert.deepEqual(first.sent, []);
  client.sendInput(encode.visible(true));
  assert.equal(first.sent.length, 1, "what the page says of itself is sent");
});

test("a connection that answers again goes on, and the one beside it is given up", async (t) => {
  const first = await stalled(t);
  const beside = Socket.last;
  assert.notEqual(beside, first);
  first.tell(Uint8Array.of(6, 1, 0, 0, 0).buffer);
  assert.deepEqual([states().at(-1), beside.readyState], ["connected", 3]);
  first.sent.length = 0;
  client.sendInput(encode.key(0x61, true));
  assert.equal(first.sent.length, 1);
});

test("a connection beside one that has stalled takes its place, and what was queued for the old one is not sent there", async (t) => {
  const first = await stalled(t);
  Socket.last.open();
  assert.equal(first.readyState, 3);
  assert.deepEqual(sent(), list(encode.resume(9, 1), encode.hello(false)));
  client.sendInput(encode.key(0x61, true));
  assert.deepEqual(sent(), [], "there is no picture yet");
  hello();
  frame(1);
  await settled();
  assert.equal(states().at(-1), "connected");
  client.sendInput(encode.key(0x61, true));
  assert.deepEqual(sent().at(-1), list(encode.key(0x61, true))[0]);
});

test("beside one that has stalled it is tried again and again, in silence", async (t) => {
  await stalled(t);
  const before = Socket.opened.length;
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  assert.equal(Socket.opened.length, before + 1);
  pass(t, 5000 + 500);
  assert.equal(Socket.opened.length, before + 2, "one that neither opens nor fails is given up");
  assert.equal(states().at(-1), "stalled");
});

test("a connection that never was is blocked where plain requests arrive, and is tried on", async (t) => {
  Socket.last.readyState = 0;
  posted.length = 0;
  await client.start();
  answering(() => new Response(null, { status: 404 }));
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  Socket.last.end(1006);
  await settled();
  assert.deepEqual(states(), ["connecting", "lost", "lost", "blocked"]);
  t.mock.timers.tick(500);
  Socket.last.end(1006);
  await settled();
  assert.equal(states().at(-1), "blocked");
  t.mock.timers.tick(1000);
  Socket.last.open();
  hello();
  frame(1);
  await settled();
  assert.equal(states().at(-1), "connected");
});

test("a sandbox that is starting is not taken for a network that blocks", async (t) => {
  await client.start();
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  Socket.last.end(1006);
  await settled();
  assert.equal(states().at(-1), "lost");
});
