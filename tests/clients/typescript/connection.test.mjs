import assert from "node:assert/strict";
import { test } from "node:test";
import { HeldByPerson, LimitReached, NotFound, TandemError, Unreachable } from "tandem-client";
import { held, serve } from "./fake_server.mjs";
import { Connection } from "./node_modules/tandem-client/dist/connection.js";

async function all(events) {
  const found = [];
  for await (const event of events) found.push(event.data);
  return found;
}

test("a call is sent with the key, and its data is given", async () => {
  const server = await serve({ data: { a: 1 } }, { body: { data: null, success: true } }, { body: [1] });
  const connection = new Connection(`${server.url}/`, "secret");
  const sent = { query: { a: "x y", b: 2, c: undefined, d: null }, body: { n: 1 } };
  assert.deepEqual(await connection.call("POST", "/v1/x", sent), { a: 1 });
  assert.equal(await connection.call("GET", "/v1/y"), null);
  assert.deepEqual(await connection.call("GET", "/v1/z"), [1]);
  assert.equal(server.seen[0].url, "/v1/x?a=x+y&b=2");
  assert.equal(server.seen[0].headers.authorization, "Bearer secret");
  assert.equal(server.seen[0].body, '{"n":1}');
  server.close();
});

test("what is refused for now is sent again as long as patience goes", async () => {
  const limited = { status: 429, headers: { "retry-after": "0.1" }, body: { message: "busy" } };
  const server = await serve(held, limited, { data: 1 }, held, limited);
  assert.equal(await new Connection(server.url, "", 60).call("GET", "/v1/x"), 1);
  assert.match(server.seen[1].url, /wait=50$/);
  await assert.rejects(new Connection(server.url, "").call("GET", "/v1/x"), (error) => error instanceof HeldByPerson && error.holder === "Ann");
  await assert.rejects(new Connection(server.url, "", 0.05).call("GET", "/v1/x"), LimitReached);
  server.close();
});

test("what may have been done is not sent again", async () => {
  const server = await serve({ status: 423, body: { message: "held", data: { reason: "held_by_human", outcome: "unknown" } } });
  await assert.rejects(new Connection(server.url, "", 60).call("POST", "/v1/x"), (error) => error.outcome === "unknown");
  assert.equal(server.seen.length, 1);
  server.close();
});

test("a file's failure is one though HTTP calls it a success", async () => {
  const server = await serve({ body: { success: false, message: "no such file", data: { error_type: "not_found" } } });
  await assert.rejects(new Connection(server.url, "").call("GET", "/v1/x"), NotFound);
  server.close();
});

test("a broken connection, silence and a wrong address are named", async () => {
  const server = await serve("reset", "silence");
  const connection = new Connection(server.url, "");
  for (const _ of [1, 2]) await assert.rejects(connection.call("GET", "/v1/x", { timeout: 1 }), Unreachable);
  await assert.rejects(new Connection("http://127.0.0.1:9", "").call("GET", "/"), /127.0.0.1:9 does not answer/);
  assert.throws(() => new Connection("localhost:8080", ""), /no URL/);
  server.close();
});

test("a caller's signal ends a call with its reason", async () => {
  const server = await serve("silence");
  const signal = AbortSignal.timeout(50);
  await assert.rejects(new Connection(server.url, "").call("GET", "/v1/x", { signal }), (error) => error === signal.reason);
  server.close();
});

test("a stream goes on behind the event that came last", async () => {
  const server = await serve({ cut: "id: 1\nevent: output\ndata: 1\n\nid: 2\nevent: output\ndata: 2" }, { events: "id: 2\nevent: exit\ndata: 2\n\n" });
  const events = new Connection(server.url, "").stream("POST", "/v1/x", { body: { a: 1 }, last: ["exit"] });
  assert.deepEqual(await all(events), [1, 2]);
  assert.deepEqual(server.seen.map((each) => each.headers["last-event-id"]), [undefined, "1"]);
  server.close();
});

test("a stream of a command waits where it is refused for now, as a call does", async () => {
  const done = { events: "id: 1\nevent: exit\ndata: 1\n\n" };
  const server = await serve(held, { status: 429, headers: { "retry-after": "0.1" }, body: {} }, done, held);
  assert.deepEqual(await all(new Connection(server.url, "", 60).stream("POST", "/v1/x", { last: ["exit"] })), [1]);
  assert.match(server.seen[1].url, /wait=50$/);
  await assert.rejects(all(new Connection(server.url, "").stream("POST", "/v1/x", { last: ["exit"] })), HeldByPerson);
  server.close();
});

test("a connection that breaks inside of an answer is one that does not answer", async () => {
  const server = await serve({ cut: "half of it" }, { cut: "half of it" });
  for (const ask of ["call", "read"]) await assert.rejects(new Connection(server.url, "")[ask]("GET", "/v1/x", { timeout: 5 }), Unreachable);
  server.close();
});

test("a list in the query is sent value by value", async () => {
  const server = await serve({ data: 1 });
  await new Connection(server.url, "").call("GET", "/v1/x", { query: { audience: ["https://a", "b"] } });
  assert.equal(server.seen[0].url, "/v1/x?audience=https%3A%2F%2Fa&audience=b");
  server.close();
});

test("what changes something is not sent again before its first event", async () => {
  const server = await serve("reset", { events: ": nothing\n\n" }, { status: 503, headers: { "retry-after": "0.1" }, body: {} });
  const connection = new Connection(server.url, "");
  // Node.js 20 does not say that a connection was reset before the answer: the caller's own limit ends it.
  const signal = AbortSignal.timeout(2000);
  await assert.rejects(all(connection.stream("POST", "/v1/x", { signal })), (error) => error instanceof Unreachable || error === signal.reason);
  await assert.rejects(all(connection.stream("POST", "/v1/x")), TandemError);
  await assert.rejects(all(connection.stream("POST", "/v1/x")), /HTTP 503/);
  assert.equal(server.seen.length, 3);
  server.close();
});
