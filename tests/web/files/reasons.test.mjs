// Why an operation failed, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { reason } = await import("/static/files/reasons.js");
const { FileError } = await import("/static/files/file_client.js");
const { ApiError } = await import("/static/api.js");

test("a failed file operation is told by its kind", () => {
  assert.equal(reason(new FileError("[Errno 2] …", "not_found")), "It is not there any more.");
  assert.equal(reason(new FileError("[Errno 17] …", "already_exists")), "There is already something of that name.");
  assert.equal(reason(new FileError("[Errno 28] …", "no_space_left")), "The disk is full.");
});

test("a refusal is told by its status", () => {
  const told = [401, 403, 409, 413, 423].map((status) => reason(new ApiError(status, "…")));
  assert.deepEqual(told.map((text) => text.split(" ").slice(0, 3).join(" ")), ["You are signed", "Your sign-in does", "There is already", "It is larger", "A person is"]);
});

test("what is unknown keeps the sandbox's words, as text that is safe to read", () => {
  assert.equal(reason(new FileError("odd \u202ething", "io_error")), "odd \u{fffd}thing");
  assert.equal(reason(new TypeError("Failed to fetch")), "The sandbox does not answer.");
});
