// The data channels beside the WebSocket: what goes by them, and how they come back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { DataChannels } from "/static/stream/data_channels.js";
import { encode } from "/static/stream/wire.js";

const [INVITED, ANSWERED, ENDED] = [0, 1, 2];

/** @type {any[]} */
let posted = [];
/** @type {any[]} */
let sent = [];
/** @type {any[]} */
let received = [];
let ended = 0;
/** @type {any} */
let channels;

/** A channel that the page has given to the worker. */
class Channel {
  readyState = "open";
  /** @type {number[][]} */
  sent = [];
  send(message) {
    this.sent.push([...new Uint8Array(message)]);
  }
}

beforeEach(() => {
  [posted, sent, received, ended] = [[], [], [], 0];
  channels = new DataChannels({
    post: (message) => posted.push(message),
    send: (message) => sent.push([...new Uint8Array(message)]),
    received: (data) => received.push([...new Uint8Array(data)]),
    ended: () => ended++,
  });
});

/** Both channels, open. */
function open() {
  const made = [new Channel(), new Channel()];
  made.forEach((channel, id) => channels.handle({ kind: "channel", id, channel }));
  return made;
}
const opened = () => posted.filter((message) => message.do === "open").length;

test("the server's invitation has the page open a connection, and its offer goes to the server", () => {
  channels.takesTrack = true;
  channels.signalled({ what: INVITED, text: "" });
  assert.deepEqual(posted, [{ kind: "peer", do: "open", track: true }]);
  channels.handle({ kind: "offer", text: "an offer" });
  assert.deepEqual(sent, [[...new Uint8Array(encode.signal("an offer"))]]);
  channels.signalled({ what: ANSWERED, text: "an answer" });
  assert.deepEqual(posted[1], { kind: "peer", do: "answer", text: "an answer" });
});

test("nothing goes by a channel before both are open", () => {
  channels.handle({ kind: "channel", id: 0, channel: new Channel() });
  assert.equal(channels.usable, false);
  assert.equal(channels.send(encode.ping(1), 0), false);
  open();
  assert.equal(channels.usable, true);
});

test("acknowledgements, pings and speech go by the unordered channel alone", () => {
  const [ordered, unordered] = open();
  for (const message of [encode.ack(1, 2, 3), encode.ping(4), encode.spoken(5, Uint8Array.of(6))]) assert.equal(channels.send(message, 0), true);
  assert.deepEqual([ordered.sent.length, unordered.sent.map(([kind]) => kind)], [0, [2, 8, 17]]);
});

test("input goes both ways, with the number that it has on the WebSocket", () => {
  const [ordered] = open();
  assert.equal(channels.send(encode.visible(true), 258), false);
  assert.deepEqual(ordered.sent, [[2, 1, 0, 0, 9, 1]]);
  assert.equal(channels.send(new ArrayBuffer(8193), 0), false);
  assert.equal(ordered.sent.length, 1, "what is long goes by the WebSocket alone");
});

test("what comes by the ordered channel is joined of its fragments, what comes by the other is whole", () => {
  const [ordered, unordered] = /** @type {any[]} */ (open());
  ordered.onmessage({ data: Uint8Array.of(1, 10).buffer });
  ordered.onmessage({ data: Uint8Array.of(0, 20).buffer });
  unordered.onmessage({ data: Uint8Array.of(1, 30).buffer });
  assert.deepEqual(received, [[10, 20], [1, 30]]);
});

test("channels that the page cannot transfer are used through the page", () => {
  channels.handle({ kind: "channel", id: 0 });
  channels.handle({ kind: "channel", id: 1 });
  channels.handle({ kind: "open", id: 0 });
  channels.handle({ kind: "open", id: 1 });
  channels.handle({ kind: "received", id: 1, data: Uint8Array.of(9).buffer });
  channels.send(encode.ping(1), 0);
  assert.deepEqual([received, posted.map(({ do: what, id }) => [what, id])], [[[9]], [["send", 1]]]);
});

test("a connection that is lost is told to the server and tried again, later each time", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  channels.signalled({ what: INVITED, text: "" });
  for (const [time, wait] of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000].entries()) {
    channels.handle({ kind: "lost" });
    assert.deepEqual([ended, sent.at(-1)], [time + 1, [...new Uint8Array(encode.signal(""))]]);
    const before = opened();
    t.mock.timers.tick(wait - 1);
    assert.equal(opened(), before);
    t.mock.timers.tick(1);
    assert.equal(opened(), before + 1);
  }
});

test("one that was open is tried again soon; an end that the server tells is not told back", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  channels.signalled({ what: INVITED, text: "" });
  channels.handle({ kind: "lost" });
  t.mock.timers.tick(10_000);
  open();
  const told = sent.length;
  channels.signalled({ what: ENDED, text: "" });
  assert.deepEqual([sent.length, channels.usable], [told, false]);
  const before = opened();
  t.mock.timers.tick(10_000);
  assert.equal(opened(), before + 1);
});

test("with the WebSocket everything is gone, and nothing is tried until the server invites again", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  channels.signalled({ what: INVITED, text: "" });
  const [ordered] = /** @type {any[]} */ (open());
  channels.reset();
  ordered.onclose();
  channels.handle({ kind: "lost" });
  t.mock.timers.tick(600_000);
  assert.deepEqual([opened(), sent.length, posted.at(-1)], [1, 0, { kind: "peer", do: "close" }]);
});

test("a track that shows nothing is refused, and the connection opened anew without one", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  channels.takesTrack = true;
  channels.signalled({ what: INVITED, text: "" });
  open();
  channels.refuseTrack();
  t.mock.timers.tick(10_000);
  assert.deepEqual(posted.at(-1), { kind: "peer", do: "open", track: false });
});
