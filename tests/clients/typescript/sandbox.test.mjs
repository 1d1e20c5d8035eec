import assert from "node:assert/strict";
import { test } from "node:test";
import { PermissionDenied, Sandbox, TimedOut } from "tandem-client";
import { serve } from "./fake_server.mjs";

const open = { data: { id: "h", status: "waiting" } };

test("it is waited for until it answers, but not where the key is wrong", async () => {
  const server = await serve("reset", { status: 502, body: {} }, { data: {} }, { status: 401, body: {} });
  const sandbox = new Sandbox({ url: server.url, key: "" });
  await sandbox.waitReady({ timeout: 30 });
  await assert.rejects(sandbox.waitReady({ timeout: 30 }), PermissionDenied);
  server.close();
  await assert.rejects(new Sandbox({ url: "http://127.0.0.1:9", key: "" }).waitReady({ timeout: 0 }), TimedOut);
});

test("a question outlives a restart, and has its answer", async () => {
  const server = await serve(open, { status: 503, body: {} }, open, { data: { id: "h", status: "closed", outcome: "done" } });
  const answer = await new Sandbox({ url: server.url, key: "" }).ask("Which?", { kind: "choice", choices: ["a"], timeout: 9 });
  assert.equal(answer.outcome, "done");
  assert.equal(JSON.parse(server.seen[0].body).deadline, 9);
  server.close();
});

test("a question is withdrawn if nobody waits any more", async () => {
  const server = await serve(open, "silence", { data: {} });
  const given = new AbortController();
  const asked = new Sandbox({ url: server.url, key: "" }).ask("Which?", { signal: given.signal });
  const refused = assert.rejects(asked, (error) => error === given.signal.reason);
  while (server.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  given.abort();
  await refused;
  assert.deepEqual([server.seen[2].method, server.seen[2].url], ["DELETE", "/v1/handoffs/h"]);
  server.close();
});

test("what an attempt throws goes back to the checkpoint", async () => {
  const made = { data: { checkpoint: { id: "c" } } };
  const server = await serve(made, { data: {} }, made);
  const sandbox = new Sandbox({ url: server.url, key: "" });
  const failed = new Error("no");
  await assert.rejects(sandbox.attempt("before", () => Promise.reject(failed)), (error) => error === failed);
  assert.equal(server.seen[1].url, "/v1/checkpoints/c/restore");
  assert.equal(await sandbox.attempt("before", async (before) => before.id), "c");
  assert.equal(server.seen.length, 3);
  server.close();
});
