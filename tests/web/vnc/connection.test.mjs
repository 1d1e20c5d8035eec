// The VNC connection: what the caller may do, and how it comes back.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { replace } from "../browser/loader.mjs";
import { answering, refusing, settled, Socket } from "../browser/network.mjs";
import RFB from "../browser/rfb.mjs";

openDocument();
globals({ WebSocket: Socket });
replace("/static/vendor/novnc/core/rfb.js", new URL("../browser/rfb.mjs", import.meta.url));
const { VncConnection } = await import("/static/vnc/connection.js");

/** @type {any[]} */
let told = [];

beforeEach(() => {
  told = [];
  Socket.opened.length = RFB.made.length = 0;
});

/** @param {any} scopes or a Response @param {object} [options] */
async function connect(scopes, options) {
  answering(() => (scopes instanceof Response ? scopes : Response.json({ scopes })));
  const listener = { state: (state, reason) => told.push(reason ? [state, reason] : state), control: (on) => told.push(["control", on]), copied: (text) => told.push(["copied", text]) };
  const connection = new VncConnection(/** @type {any} */ ({}), { address: new URL("ws://box.test/websockify"), watch: false, ...options }, listener);
  await connection.connect();
  return connection;
}

test("who may control uses the desktop, who may view watches", async () => {
  await connect("view control");
  assert.deepEqual([RFB.last.viewOnly, String(RFB.last.socket.address)], [false, "ws://box.test/websockify"]);
  RFB.last.dispatchEvent(new Event("connect"));
  assert.deepEqual(told, ["connecting", ["control", true], "connected"]);
  assert.deepEqual(RFB.last.done, [], "a connection leaves the focus where it is");
  await connect("view");
  assert.equal(RFB.last.viewOnly, true);
  await connect("view control", { watch: true });
  assert.equal(RFB.last.viewOnly, true);
});

test("who may not view is told so, and nothing is opened", async () => {
  await connect("files");
  assert.deepEqual([told.at(-1)[0], RFB.made.length], ["refused", 0]);
});

test("signed out and forbidden are refusals, anything else is tried again, later each time", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await connect(refusing(401, "no"));
  assert.deepEqual(told, ["connecting", ["refused", "You are signed out. Sign in, or open a new link."]]);
  told = [];
  await connect(refusing(403, "that needs the scope view"));
  assert.deepEqual(told, ["connecting", ["refused", "that needs the scope view"]]);
  told = [];
  await connect(refusing(503, "the sandbox is starting"));
  for (const wait of [250, 500, 1000, 2000, 4000, 4000]) {
    const before = told.length;
    t.mock.timers.tick(wait - 1);
    assert.equal(told.length, before);
    t.mock.timers.tick(1);
    await settled();
    assert.deepEqual(told.slice(before), ["connecting", ["lost", told.at(-1)[1]]]);
  }
});

test("a socket that closes is opened again, an older one that closes is not missed", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await connect("view");
  const first = Socket.last;
  first.end(1006, "the desktop was restarted");
  assert.deepEqual(told.at(-1), ["lost", "the desktop was restarted"]);
  t.mock.timers.tick(250);
  await settled();
  assert.equal(Socket.opened.length, 2);
  first.end(1006);
  assert.equal(told.filter((state) => [state].flat()[0] === "lost").length, 1);
});

test("text is typed key by key, with Shift for capitals, and pasted as a whole", async () => {
  const connection = await connect("view control");
  RFB.last.done = [];
  connection.type("aB\n");
  connection.paste("text");
  assert.deepEqual(RFB.last.done, [0x61, [0xffe1, true], 0x42, [0xffe1, false], 0xff0d, "focus", ["paste", "text"]]);
});

test("what is copied on the desktop is told, and a password is refused", async () => {
  await connect("view");
  RFB.last.dispatchEvent(new CustomEvent("clipboard", { detail: { text: "there" } }));
  RFB.last.dispatchEvent(new Event("securityfailure"));
  assert.deepEqual(told.slice(1), [["copied", "there"], ["refused", "The desktop's server asks for a password."]]);
});

test("its size is fitted, or pixel by pixel, from the next connection on too", async () => {
  const connection = await connect("view");
  assert.equal(RFB.last.scaleViewport, true);
  connection.scaled = false;
  assert.equal(RFB.last.scaleViewport, false);
  await connection.connect();
  assert.equal(RFB.last.scaleViewport, false);
});

test("one that was closed does not come back by itself, also while it connects", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const connection = await connect("view");
  const socket = Socket.last;
  connection.close();
  assert.deepEqual(RFB.last.done, ["disconnect"]);
  socket.end(1006);
  t.mock.timers.tick(60_000);
  assert.equal(RFB.made.length, 1);
  const connecting = connection.connect();
  connection.close();
  await connecting;
  assert.equal(RFB.made.length, 1);
});

test("a network that blocks WebSockets is told once it has failed twice, and a connection that was there is lost", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const connection = await connect("view");
  answering((_, path) => (String(path).endsWith("/websockify") ? new Response(null, { status: 404 }) : Response.json({ scopes: "view" })));
  Socket.last.end(1006);
  t.mock.timers.tick(250);
  await settled();
  Socket.last.end(1006);
  await settled();
  assert.deepEqual(told, ["connecting", "lost", "connecting", "lost", "blocked"]);
  t.mock.timers.tick(500);
  await settled();
  Socket.last.dispatchEvent(new Event("open"));
  RFB.last.dispatchEvent(new Event("connect"));
  Socket.last.end(1006);
  await settled();
  assert.deepEqual(told.slice(-3), [["control", false], "connected", "lost"]);
  connection.close();
});
