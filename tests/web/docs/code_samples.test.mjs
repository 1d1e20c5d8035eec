// Code samples of the operations of the committed OpenAPI document.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bodyValues, codeSamples, sampleValues, target } from "/static/docs/code_samples.js";
import { readOperations } from "/static/docs/openapi.js";

const committed = JSON.parse(readFileSync(new URL("../../../sandbox_server/openapi.json", import.meta.url), "utf8"));
const operations = readOperations(committed);
const find = (id) => operations.find((operation) => operation.id === id);
const BASE = "http://box:8080";

test("path and query are filled and quoted", () => {
  const hook = find("sandbox/remove_hook");
  const download = find("file/download_file");

  assert.equal(target(hook, { name: "a/b" }), "/v1/sandbox/hooks/a%2Fb");
  assert.equal(target(download, { path: "/tmp/a b" }), "/v1/file/download?path=%2Ftmp%2Fa+b");
  assert.deepEqual(bodyValues(download, { path: "/tmp" }), {});
});

test("each operation is shown as other programs call it", () => {
  const shown = codeSamples(find("shell/exec_command"), BASE, true);

  assert.equal(
    shown.curl,
    `curl ${BASE}/v1/shell/exec \\\n  -H "Authorization: Bearer $SANDBOX_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '{"command":"ls -la"}'`,
  );
  assert.equal(shown["Command line"], "sandbox shell exec-command --command 'ls -la'");
  assert.equal(shown.Python, 'client.shell.exec_command(command="ls -la")');
  assert.equal(shown.MCP, undefined);
});

test("a tool is shown as an agent calls it", () => {
  const tool = operations.find((operation) => operation.tool === "sandbox_execute_bash");
  const shown = codeSamples(tool, BASE, false);

  assert.deepEqual(JSON.parse(shown.MCP).params, { name: "sandbox_execute_bash", arguments: { cmd: "ls -la" } });
});

test("what the SDK lacks is shown in Python with httpx", () => {
  const shown = (id) => codeSamples(find(id), BASE, false).Python;

  assert.ok(shown("handoffs/request_human").includes(`httpx.request("POST", "${BASE}/v1/handoffs", headers=headers, json={"reason": "Shall I go on?"}, timeout=3600)`));
  assert.ok(shown("handoffs/request_human").endsWith('print(answer.json()["data"])'));
  assert.ok(shown("control/control_events").includes("for line in answer.iter_lines():"));
  assert.ok(shown("checkpoints/import_checkpoint").includes('content=open("FILE", "rb")'));
});

test("uploads and deletions are shown as curl sends them", () => {
  assert.ok(codeSamples(find("file/upload_file"), BASE, true).curl.includes("-F file=@/tmp/notes.txt"));
  assert.ok(codeSamples(find("sandbox/remove_hook"), BASE, true).curl.includes("-X DELETE"));
});

test("every operation can be shown, with a value for each field that must be given", () => {
  for (const operation of operations) {
    const values = sampleValues(operation);
    const required = operation.fields.filter((field) => field.required).map((field) => field.name);
    assert.deepEqual(Object.keys(values), required);
    assert.ok(!target(operation, values).includes("{"), operation.id);
    assert.ok(codeSamples(operation, BASE, true).curl.startsWith("curl "));
  }
});

test("curl is told the method only where it would guess another", () => {
  const shown = (id) => codeSamples(find(id), BASE, true).curl;
  assert.ok(!shown("file/download_file").includes("-X"));
  assert.ok(!shown("shell/exec_command").includes("-X"));
  const bodyless = operations.find((operation) => operation.verb === "POST" && !operation.bodyType);
  assert.ok(codeSamples(bodyless, BASE, true).curl.includes("-X POST"));
});
