// A network that blocks WebSockets, and a sandbox that does not answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "./browser/dom.mjs";
import { answering } from "./browser/network.mjs";

openDocument();
const { isBlocked } = await import("/static/websocket_check.js");

test("what answers a plain request as a WebSocket's address does is blocked", async () => {
  const asked = answering(() => new Response(null, { status: 404 }));
  assert.equal(await isBlocked("wss://box.test/stream/socket?ticket=once"), true);
  assert.equal(String(asked[0].path), "https://box.test/stream/socket", "a ticket is not used up");
  answering(() => new Response(null, { status: 426 }));
  assert.equal(await isBlocked("/v1/shell/ws"), true);
});

test("a sandbox that is starting, refuses, or does not answer is not", async () => {
  for (const status of [401, 403, 423, 429, 502, 503]) {
    answering(() => new Response(null, { status }));
    assert.equal(await isBlocked("ws://box.test/stream/socket"), false, String(status));
  }
  answering(() => {
    throw new TypeError("no network");
  });
  assert.equal(await isBlocked("ws://box.test/stream/socket"), false);
});
