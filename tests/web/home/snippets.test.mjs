// The code that connects a program has this sandbox's address.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connectSnippets } from "/static/home/snippets.js";

const { Python: python, MCP: mcp, curl } = connectSnippets("https://box.test");

test("each way to connect names this sandbox", () => {
  assert.match(python, /Sandbox\(base_url="https:\/\/box\.test",/);
  assert.match(curl, /^curl https:\/\/box\.test\/v1\/shell\/exec \\$/m);
});

test("the MCP snippet is a configuration that clients read", () => {
  assert.deepEqual(JSON.parse(mcp).mcpServers.tandem, { type: "http", url: "https://box.test/mcp", headers: { Authorization: "Bearer YOUR_KEY" } });
});

test("the body that curl sends is JSON", () => {
  const [, sent] = /** @type {RegExpMatchArray} */ (curl.match(/-d '(.*)'/));
  assert.deepEqual(JSON.parse(sent), { command: "uname -a" });
});
