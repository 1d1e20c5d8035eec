// The file operations of the API.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";

openDocument();
const { FileError, downloadAddress, list, makeFolder, move, remove, search, start, status, upload } = await import("/static/files/file_client.js");

/** @param {string} kind */
const failing = (kind) => Response.json({ success: false, message: "no", data: { error_type: kind } });
const { signal } = new AbortController();

test("each operation says what it wants, and nothing is replaced by the way", async () => {
  const asked = answering(() => ({}));
  await list("/a", 10_000);
  await makeFolder("/a/b");
  await move("/a/b", "/a/c");
  await remove({ name: "d", path: "/d", is_directory: true });
  await remove({ name: "l", path: "/l", is_directory: true, is_symlink: true });
  assert.deepEqual(asked.map(({ path, body }) => [path.slice("/v1/file/".length), body]), [
    ["list", { path: "/a", offset: 10_000, limit: 10_000 }],
    ["mkdir", { path: "/a/b", parents: false, exist_ok: false }],
    ["move", { path: "/a/b", destination: "/a/c" }],
    ["delete", { path: "/d", recursive: true }],
    ["delete", { path: "/l", recursive: false }],
  ]);
});

test("a search takes a text as it is, in either case", async () => {
  const asked = answering(() => ({ files: [] }));
  await search("/a", "b*[1]?", true);
  assert.equal(asked[0].body.pattern, "**/*[bB][*][[]1][?]*");
  assert.deepEqual([asked[0].body.include_hidden, asked[0].body.files_only], [true, false]);
});

test("an operation that failed is told by its kind, and nothing there is no failure of a look", async () => {
  answering(() => failing("permission_denied"));
  await assert.rejects(list("/root"), (error) => error instanceof FileError && error.kind === "permission_denied");
  await assert.rejects(status("/root/x"), FileError);
  answering(() => failing("not_found"));
  assert.equal(await status("/a"), undefined);
});

test("of a file no more than its start is read, whatever is sent", async () => {
  const asked = /** @type {any[]} */ ([]);
  const answers = (/** @type {Response} */ answer) => globals({ fetch: async (...given) => (asked.push(given), answer) });
  answers(new Response("0123456789", { status: 206, headers: { "Content-Range": "bytes 0-9/99" } }));
  const { bytes, size } = await start("/a b", 4, signal);
  assert.deepEqual([new TextDecoder().decode(bytes), size], ["0123", 99]);
  assert.deepEqual([asked[0][0], asked[0][1].headers, asked[0][1].cache], ["/v1/file/download?path=%2Fa%20b", { Range: "bytes=0-3" }, "no-store"]);
  answers(new Response(null, { status: 416 }));
  assert.equal((await start("/empty", 4, signal)).size, 0);
  answers(Response.json({ message: "it is gone" }, { status: 404 }));
  await assert.rejects(start("/gone", 4, signal), /it is gone/);
});

test("a path in an address is one value", () => {
  assert.equal(downloadAddress("/a&sudo=true#"), "/v1/file/download?path=%2Fa%26sudo%3Dtrue%23");
});

test("an upload tells its progress, and can be stopped", async () => {
  /** @type {any} */
  let sent;
  globals({
    XMLHttpRequest: class {
      upload = /** @type {any} */ ({});
      open() {}
      abort = () => /** @type {any} */ (this).onabort();
      send(/** @type {FormData} */ body) {
        sent = Object.assign(this, { body });
      }
    },
  });
  const shares = /** @type {number[]} */ ([]);
  const options = { progress: (/** @type {number} */ share) => shares.push(share), signal };
  const done = upload("/a/up", new File(["x"], "up"), options);
  sent.upload.onprogress({ loaded: 1, total: 2 });
  Object.assign(sent, { status: 200, response: { success: true } });
  sent.onload();
  await done;
  assert.deepEqual([shares, sent.body.get("path")], [[0.5], "/a/up"]);
  const refused = upload("/a/up", new File(["x"], "up"), options);
  Object.assign(sent, { status: 413, response: { message: "too large" } });
  sent.onload();
  await assert.rejects(refused, (error) => error instanceof FileError && error.status === 413);
  const stopping = new AbortController();
  const stopped = upload("/a/up", new File(["x"], "up"), { ...options, signal: stopping.signal });
  stopping.abort();
  await assert.rejects(stopped, { name: "AbortError" });
});
