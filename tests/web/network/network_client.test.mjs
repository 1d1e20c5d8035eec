// The client of the egress operations.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing } from "../browser/network.mjs";
import { state } from "./connections.mjs";

openDocument();
const { changePolicy, EgressError, forgetProposal, makeGrant, readConnections, readPolicy, readProposal, readStatus, revokeGrant, writePolicy } = await import("/static/network/network_client.js");

test("a change says which policy it is made to", async () => {
  /** @type {any[]} */
  const matched = [];
  const asked = answering((method, _path, _body, headers) => (matched.push([method, headers["If-Match"]]), state()));
  await readPolicy();
  assert.equal((await writePolicy('{"default": "deny"}', '"1"')).etag, '"1"');
  await changePolicy({ mode: "learn" }, '"2"');
  assert.deepEqual(matched, [["GET", undefined], ["PUT", '"1"'], ["PATCH", '"2"']]);
  assert.deepEqual(asked.map(({ body }) => body), [undefined, { default: "deny" }, { mode: "learn" }]);
});

test("what is refused says where, and what does not answer in JSON fails, too", async () => {
  answering(() => Response.json({ detail: [{ loc: ["body", "default"], pointer: "/default", msg: "must be allow or deny" }] }, { status: 422 }));
  await assert.rejects(writePolicy("{}", '"1"'), (error) => error instanceof EgressError && error.status === 422 && error.errors[0].pointer === "/default");
  answering(() => refusing(412, "stale"));
  await assert.rejects(writePolicy("{}", '"1"'), { status: 412, message: "stale" });
  answering(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));
  await assert.rejects(readStatus(), { status: 502, message: "502" });
});

test("each operation has its address", async () => {
  const asked = answering(() => null);
  await readConnections(5);
  await readProposal();
  await forgetProposal();
  await makeGrant({ host: "a.example", port: 443, protocol: "tls", action: "allow", duration: "task" });
  await revokeGrant("g/1");
  assert.deepEqual(asked.map(({ method, path }) => `${method} ${path}`), [
    "GET /v1/egress/connections?limit=5", "GET /v1/egress/proposal", "DELETE /v1/egress/proposal", "POST /v1/egress/grants", "DELETE /v1/egress/grants/g%2F1",
  ]);
});
