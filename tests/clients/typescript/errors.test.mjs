import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "tandem-client";
import { failure } from "./node_modules/tandem-client/dist/errors.js";

test("each status has its class", () => {
  const classes = { 400: "InvalidRequest", 401: "PermissionDenied", 403: "PermissionDenied", 404: "NotFound", 409: "Conflict" };
  const more = { 413: "InvalidRequest", 422: "InvalidRequest", 423: "HeldByPerson", 429: "LimitReached", 503: "Unavailable", 500: "ApiError" };
  for (const [status, name] of Object.entries({ ...classes, ...more })) {
    const error = failure(Number(status), { message: "why" }, new Headers());
    assert.ok(error instanceof client[name]);
    assert.equal(error.name, name);
    assert.ok(error instanceof client.TandemError);
  }
});

test("a failure has what the answer says", () => {
  const body = { message: "held", hint: "wait", data: { reason: "held_by_human", holder: "Ann", epoch: 4, outcome: "unknown" } };
  const error = failure(423, body, new Headers({ "x-request-id": "r1", "retry-after": "2.5" }));
  assert.equal(error.message, "held (HTTP 423). wait");
  assert.deepEqual([error.detail, error.hint, error.reason, error.holder], ["held", "wait", "held_by_human", "Ann"]);
  assert.deepEqual([error.epoch, error.outcome, error.requestId, error.retryAfter], [4, "unknown", "r1", 2.5]);
});

test("an answer of any form is a failure", () => {
  for (const body of ["<html>", null, [], 7, { data: "x" }, { detail: [{ msg: "no" }] }]) {
    const error = failure(502, body, new Headers({ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }));
    assert.equal(error.status, 502);
    assert.equal(error.retryAfter, null);
    assert.equal(error.epoch, null);
  }
});
