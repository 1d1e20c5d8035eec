import assert from "node:assert/strict";
import { test } from "node:test";
import { Sandbox, TimedOut } from "tandem-client";
import { serve } from "./fake_server.mjs";

const state = (holder, secret = null) => ({ data: { holder, private: secret } });

test("control is waited for, private mode too", async () => {
  const server = await serve(state("Ann"), state(null, "Ann"), state(null));
  assert.equal((await new Sandbox({ url: server.url, key: "" }).control.wait({ timeout: 30 })).holder, null);
  assert.equal(server.seen.length, 3);
  server.close();
});

test("a wait ends in time, and by its signal", async () => {
  const server = await serve(state("Ann"), state("Ann"), state("Ann"));
  const { control } = new Sandbox({ url: server.url, key: "" });
  await assert.rejects(control.wait({ timeout: 0.1 }), (error) => error instanceof TimedOut && /Ann/.test(error.message));
  const signal = AbortSignal.abort();
  await assert.rejects(control.wait({ signal }), (error) => error === signal.reason);
  server.close();
});
