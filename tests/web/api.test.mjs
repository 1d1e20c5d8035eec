// The pages' HTTP client.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError, call } from "/static/api.js";
import { answering, refusing } from "./browser/network.mjs";

test("the data of the envelope is returned, or the whole body where that is asked for", async () => {
  answering(() => ({ answer: 42 }));
  assert.deepEqual(await call("GET", "/v1/thing"), { answer: 42 });
  assert.deepEqual(await call("GET", "/v1/thing", { whole: true }), { success: true, message: "", data: { answer: 42 }, hint: null });
});

test("a body is sent as JSON", async () => {
  const asked = answering(() => null);
  await call("POST", "/v1/thing", { body: { name: "日本" } });
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/thing", body: { name: "日本" } }]);
});

test("a refusal is an error with its status and the server's sentence", async () => {
  answering(() => refusing(403, "that needs the scope shell"));
  await assert.rejects(call("GET", "/v1/thing"), (error) => error instanceof ApiError && error.status === 403 && error.message === "that needs the scope shell");
});

test("a refusal without a body is an error all the same", async () => {
  answering(() => new Response("<html>", { status: 502 }));
  await assert.rejects(call("GET", "/v1/thing"), { name: "Error", status: 502, message: "the sandbox answered 502" });
});

test("a status that the caller accepts is no error, and no content is nothing", async () => {
  answering((_, path) => (path === "/readyz" ? Response.json({ status: "starting" }, { status: 503 }) : new Response(null, { status: 204 })));
  assert.deepEqual(await call("GET", "/readyz", { whole: true, accepted: [503] }), { status: "starting" });
  assert.equal(await call("DELETE", "/v1/session"), undefined);
});
