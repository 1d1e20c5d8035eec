// The OpenAPI document, read as the reference shows it. The committed one is the sample.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { grouped, matching, readOperations, typeName } from "/static/docs/openapi.js";

const committed = JSON.parse(readFileSync(new URL("../../../sandbox_server/openapi.json", import.meta.url), "utf8"));
const operations = readOperations(committed);
const find = (id) => operations.find((operation) => operation.id === id);

test("every operation of the document is read, and each has an address of its own", () => {
  const count = Object.values(committed.paths).flatMap((verbs) => Object.keys(verbs)).length;
  assert.equal(operations.length, count);
  assert.equal(new Set(operations.map(({ id }) => id)).size, count);
});

test("an operation has its fields with place, type, default and choices", () => {
  const { fields, verb, path, scope, streams } = find("shell/exec_command");
  const byName = Object.fromEntries(fields.map((field) => [field.name, field]));

  assert.deepEqual([verb, path, scope, streams], ["POST", "/v1/shell/exec", "shell", true]);
  assert.deepEqual([byName.command.type, byName.command.required, byName.command.place], ["string", true, "body"]);
  assert.deepEqual([byName.truncate.type, byName.truncate.initial], ["boolean", true]);
  assert.deepEqual([byName.timeout.type, byName.timeout.initial], ["number", null]);
});

test("what an operation answers is shown without its envelope and without the failure beside it", () => {
  const { answer, answerType } = find("file/read_file");

  assert.equal(answerType, "object");
  assert.ok(answer.some(({ name }) => name === "content"));
  assert.ok(!answer.some(({ name }) => ["success", "errno"].includes(name)));
});

test("fields inside fields are read as far as they are shown", () => {
  const files = find("file/list_path").answer.find(({ name }) => name === "files");

  assert.equal(files.type, "list of object");
  assert.ok(files.inner.some(({ name }) => name === "is_directory"));
});

test("a schema that holds itself comes to an end", () => {
  const node = { type: "object", properties: { nodes: { type: "array", items: { $ref: "#/components/schemas/Node" } } } };
  const entry = { tags: ["t"], "x-name": "o", summary: "S.", responses: { 200: { content: { "application/json": { schema: node } } } } };
  const [read] = readOperations({ tags: [{ name: "t" }], paths: { "/x": { get: entry } }, components: { schemas: { Node: node } } });

  assert.equal(read.answer[0].inner[0].inner[0].inner[0].inner.length, 0);
});

test("types are named as a person would say them", () => {
  const named = (schema) => typeName({ components: { schemas: { A: { type: "object" } } } }, schema);

  assert.equal(named({ anyOf: [{ type: "integer" }, { type: "null" }] }), "integer");
  assert.equal(named({ anyOf: [{ type: "integer" }, { type: "string" }, { type: "null" }] }), "integer or string");
  assert.equal(named({ type: "array", items: { $ref: "#/components/schemas/A" } }), "list of object");
  assert.equal(named({ type: "string", format: "binary" }), "file");
  assert.equal(named({}), "anything");
});

test("a search finds operations by every word, in names, paths, summaries and tools", () => {
  const found = (words) => matching(operations, words).map(({ id }) => id);

  assert.deepEqual(found("GREP file"), ["file/grep_files"]);
  assert.ok(found("/v1/shell").includes("shell/view"));
  assert.ok(found("sandbox_execute_bash").length === 1);
  assert.deepEqual(found("no such thing"), []);
  assert.equal(found("").length, operations.length);
});

test("an operation is found by what people call it, and by the sentence of its group", () => {
  const tags = (words) => new Set(matching(operations, words).map(({ tag }) => tag));

  assert.ok(tags("undo").has("checkpoints"));
  assert.ok(tags("snapshot").has("checkpoints"));
  assert.ok(tags("take over").has("control"));
  assert.ok(tags("approve").has("handoffs"));
  assert.deepEqual(tags("nothing of that name"), new Set());
});

test("groups have a sentence each, in the document's order, and only those that have something", () => {
  const all = grouped(committed, operations);
  assert.deepEqual(all.map(({ name }) => name), committed.tags.map(({ name }) => name));
  assert.ok(all.every(({ description }) => description));
  assert.deepEqual(grouped(committed, matching(operations, "undo restore_checkpoint")).map(({ name }) => name), ["checkpoints"]);
});
