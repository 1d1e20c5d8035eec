// The code that connects a program has this sandbox's address, and one key or one placeholder.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connectSnippets, PLACEHOLDER } from "/static/home/snippets.js";

const KEY = "tandem_0123456789";
const filled = connectSnippets("https://box.test", KEY);

test("each way to connect names this sandbox and the key", () => {
  assert.deepEqual(Object.keys(filled), ["Claude Code", "Codex", "Cursor", "MCP JSON", "Python", "TypeScript", "curl"]);
  for (const [name, text] of Object.entries(filled)) {
    assert.match(text, /https:\/\/box\.test(\/mcp|\/v1\/shell\/exec)?["\s]/, name);
    assert.equal(text.includes(`Bearer ${KEY}`), true, name);
  }
});

test("before there is a key all have the same placeholder and no other", () => {
  const empty = connectSnippets("https://box.test", PLACEHOLDER);
  for (const [name, text] of Object.entries(empty)) {
    assert.equal(text.replaceAll(PLACEHOLDER, KEY), filled[name]);
    assert.doesNotMatch(text, /\$\w+|\{key\}/, name);
  }
});

test("what is a configuration is one that its client reads", () => {
  const headers = { Authorization: `Bearer ${KEY}` };
  assert.deepEqual(JSON.parse(filled["MCP JSON"]).mcpServers.tandem, { type: "http", url: "https://box.test/mcp", headers });
  assert.deepEqual(JSON.parse(filled.Cursor).mcpServers.tandem, { url: "https://box.test/mcp", headers });
  assert.match(filled.Codex, /^\[mcp_servers\.tandem\]\nurl = "https:\/\/box\.test\/mcp"\nhttp_headers = \{ Authorization = "Bearer \w+" \}$/m);
  assert.equal(filled["Claude Code"], `claude mcp add --transport http tandem https://box.test/mcp --header "Authorization: Bearer ${KEY}"`);
});

test("the body that curl sends is JSON", () => {
  const [, sent] = /** @type {RegExpMatchArray} */ (filled.curl.match(/-d '(.*)'/));
  assert.deepEqual(JSON.parse(sent), { command: "uname -a" });
});
