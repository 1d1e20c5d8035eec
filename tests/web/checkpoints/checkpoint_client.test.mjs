// The client of the checkpoints' operations.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";

openDocument();
const client = await import("/static/checkpoints/checkpoint_client.js");

test("each operation is asked for by its path", async () => {
  const asked = answering(() => ({}));
  await client.listCheckpoints();
  await client.makeCheckpoint("before");
  await client.previewRestore("image");
  await client.restoreCheckpoint("../x");
  await client.pruneCheckpoints();
  assert.deepEqual(asked.map(({ method, path, body }) => [method, path, body]), [
    ["GET", "/v1/checkpoints", undefined],
    ["POST", "/v1/checkpoints", { label: "before" }],
    ["GET", "/v1/checkpoints/image/restore", undefined],
    ["POST", "/v1/checkpoints/..%2Fx/restore", {}],
    ["POST", "/v1/checkpoints/prune", { keep: 0 }],
  ]);
});

test("a directory of a comparison is named whatever characters it has", async () => {
  const asked = answering(() => ({}));
  await client.changesUnder({ older: "image", newer: "current" }, "/a&b\ud800", "z?");
  const [, query] = asked[0].path.split("?", 2);
  assert.equal(asked[0].path.split("?")[0], "/v1/checkpoints/current/tree");
  assert.deepEqual(Object.fromEntries(new URLSearchParams(query)), { against: "image", under: "/a&b\ufffd", limit: "100", after: "z?" });
});
