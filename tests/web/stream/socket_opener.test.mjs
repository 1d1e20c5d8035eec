// Opening a WebSocket: each try is bounded, and the pauses between them are.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { Socket } from "../browser/network.mjs";

globals({ WebSocket: Socket });
const { SocketOpener } = await import("/static/stream/socket_opener.js");

/** @type {any[]} */
let told = [];
/** @type {any} */
let opener;

beforeEach((t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  Socket.opened.length = 0;
  told = [];
  opener = new SocketOpener("ws://box.test/stream/socket", {
    opened: (socket) => told.push(socket),
    failed: (code, reason) => told.push([code, reason]),
  });
});

test("a socket that opens is handed over, and left alone from then on", (t) => {
  opener.open();
  Socket.last.open();
  t.mock.timers.tick(60_000);
  opener.stop();
  assert.deepEqual([told, Socket.last.readyState, Socket.last.binaryType], [[Socket.last], 1, "arraybuffer"]);
});

test("one that is refused, and one that neither opens nor fails, are told", (t) => {
  opener.open();
  Socket.last.end(1006, "refused");
  opener.open();
  t.mock.timers.tick(5000);
  assert.deepEqual([told, Socket.last.readyState], [[[1006, "refused"], [0, ""]], 3]);
  Socket.last.end(1006);
  assert.equal(told.length, 2, "it was told already");
});

test("each pause is longer than the one before, up to four seconds, and short again once the server answered", (t) => {
  for (const wait of [250, 500, 1000, 2000, 4000, 4000]) {
    const before = Socket.opened.length;
    opener.openLater();
    t.mock.timers.tick(wait - 1);
    assert.equal(Socket.opened.length, before);
    t.mock.timers.tick(1);
    assert.equal(Socket.opened.length, before + 1);
  }
  opener.answered();
  const before = Socket.opened.length;
  opener.openLater();
  t.mock.timers.tick(250);
  assert.equal(Socket.opened.length, before + 1);
});

test("what is stopped does not open any more", (t) => {
  opener.open();
  const first = Socket.last;
  opener.stop();
  first.open();
  opener.openLater();
  opener.stop();
  t.mock.timers.tick(60_000);
  assert.deepEqual([told, Socket.opened.length, first.closedWith], [[], 1, 1005]);
});
