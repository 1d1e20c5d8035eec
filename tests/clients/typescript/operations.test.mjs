import assert from "node:assert/strict";
import { test } from "node:test";
import { Sandbox, TandemError } from "tandem-client";
import { serve } from "./fake_server.mjs";

test("a route's path is filled, and query and body are sent", async () => {
  const server = await serve({ data: { id: "h/1" } }, { data: [] });
  const { api } = new Sandbox({ url: server.url, key: "" });
  await api.call("GET /v1/handoffs/{id}", { path: { id: "h/1?" }, query: { wait: 2 } });
  assert.equal(server.seen[0].url, "/v1/handoffs/h%2F1%3F?wait=2");
  assert.deepEqual(await api.call("GET /v1/handoffs"), []);
  server.close();
});

test("a value that leads to another path is refused", async () => {
  const { api } = new Sandbox({ url: "http://127.0.0.1:9", key: "" });
  for (const id of ["", ".", ".."]) await assert.rejects(api.call("GET /v1/handoffs/{id}", { path: { id } }), TandemError);
});

test("all of an answer is given where it is asked for", async () => {
  const server = await serve({ body: { success: true, data: 1, hint: "more" } });
  assert.deepEqual(await new Sandbox({ url: server.url, key: "" }).api.whole("GET /v1/handoffs"), { success: true, data: 1, hint: "more" });
  server.close();
});

test("an operation's events are followed", async () => {
  const server = await serve({ events: "event: control\ndata: 1\n\n" });
  for await (const event of new Sandbox({ url: server.url, key: "" }).api.events("GET /v1/events")) {
    assert.deepEqual([event.name, event.data], ["control", 1]);
    break;
  }
  server.close();
});
