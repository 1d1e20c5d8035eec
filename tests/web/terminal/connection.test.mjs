// The terminal's connection, with a server that is the test.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { answering, settled, Socket } from "../browser/network.mjs";

globals({ WebSocket: Socket, location: new URL("https://box.test/terminal?session_id=x") });
const { TerminalConnection } = await import("/static/terminal/connection.js");

/** @type {any[]} */
let told = [];
/** @type {any} */
let connection;

/** @param {string} [session] @param {boolean} [create] */
function connect(session = "", create = true) {
  told = [];
  Socket.opened.length = 0;
  connection = new TerminalConnection(session, create, {
    session: (id) => told.push(["session", id]),
    output: (text) => told.push(["output", text]),
    resize: (columns, rows) => told.push(["resize", columns, rows]),
    state: (state) => told.push([state]),
    refused: (reason) => told.push(["refused", reason]),
  });
}

/** @param {object} message */
const tell = (message) => Socket.last.tell(JSON.stringify(message));
const sent = () => Socket.last.sent.map((text) => JSON.parse(text));

beforeEach(() => connect());

test("a new session is asked for without an id, and one that is known with it", () => {
  assert.equal(Socket.last.address, "wss://box.test/v1/shell/ws");
  connect("a b");
  assert.equal(Socket.last.address, "wss://box.test/v1/shell/ws?session_id=a+b");
});

test("without making one, the session that was used last is asked for, or the one that is named", () => {
  connect("", false);
  assert.equal(Socket.last.address, "wss://box.test/v1/shell/ws?create=false");
  connect("s1", false);
  assert.equal(Socket.last.address, "wss://box.test/v1/shell/ws?session_id=s1&create=false");
});

test("the session, its screen and its size are told", () => {
  tell({ type: "session_id", data: "s1" });
  tell({ type: "ready" });
  tell({ type: "output", data: "$ " });
  tell({ type: "resize", data: { cols: 80, rows: 24 } });
  assert.deepEqual(told, [["connecting"], ["session", "s1"], ["connected"], ["output", "$ "], ["resize", 80, 24]]);
});

test("what is typed is sent while the socket is open, and a ping is answered", () => {
  connection.type("lost");
  Socket.last.open();
  connection.type("ls\r");
  connection.resize(120, 40);
  tell({ type: "ping", timestamp: 17 });
  assert.deepEqual(sent(), [
    { type: "input", data: "ls\r" },
    { type: "resize", data: { cols: 120, rows: 40 } },
    { type: "pong", data: { timestamp: 17 } },
  ]);
});

test("a lost connection comes back with the same session, later each time, and soon again once it was ready", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  connect();
  tell({ type: "session_id", data: "s1" });
  const waits = [];
  for (let time = 0; time < 7; time++) {
    const before = Socket.opened.length;
    Socket.last.end(1006);
    let waited = 0;
    for (; Socket.opened.length === before; waited += 250) t.mock.timers.tick(250);
    waits.push(waited);
  }
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 8000]);
  assert.match(Socket.last.address, /session_id=s1$/);
  tell({ type: "ready" });
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  assert.equal(Socket.opened.length, 9);
});

test("a session that is over or refused is not asked for again, and why is told", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {[string, number, string][]} */
  const ends = [["s1", 1000, "ended"], ["s1", 4404, "ended"], ["", 4404, "none"], ["", 4423, "held"], ["", 4429, "full"]];
  for (const [session, code, state] of ends) {
    connect(session);
    tell({ type: "error", data: "because" });
    Socket.last.end(code, "because");
    t.mock.timers.tick(60_000);
    assert.deepEqual([told, Socket.opened.length], [[["connecting"], [state]], 1]);
  }
});

test("what the server refuses of a session that is shown is told", () => {
  tell({ type: "session_id", data: "s1" });
  tell({ type: "ready" });
  tell({ type: "error", data: "Somebody else has control" });
  assert.deepEqual(told.at(-1), ["refused", "Somebody else has control"]);
});

test("leaving closes the socket, and its end is no news", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  connect();
  const socket = Socket.last;
  connection.close();
  assert.equal(socket.closedWith, 1000);
  socket.end(1006);
  t.mock.timers.tick(60_000);
  assert.deepEqual([told, Socket.opened.length], [[["connecting"]], 1]);
});

test("a network that blocks WebSockets is told once it has failed twice", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  connect();
  answering(() => new Response(null, { status: 404 }));
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  Socket.last.end(1006);
  await settled();
  assert.deepEqual(told, [["connecting"], ["blocked"]]);
  t.mock.timers.tick(500);
  Socket.last.open();
  tell({ type: "ready" });
  Socket.last.end(1006);
  assert.deepEqual(told.slice(2), [["connected"], ["lost"]]);
  connection.close();
});
