// In which way a request is answered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isShort, mayNeedDriving, wayOf } from "/static/requests/handoff.js";

/** @param {object} given @returns {any} */
const asked = (given) => ({ kind: "free", reason: "r", instructions: "", region: null, choices: [], fields: [], ...given });
const FIELD = { name: "city", label: "City", secret: false };

test("only what somebody must drive for has to be taken on", () => {
  for (const kind of ["login", "captcha", "payment", "free"]) assert.equal(wayOf(asked({ kind })), "drive", kind);
  assert.equal(wayOf(asked({ kind: "confirm" })), "yesNo");
  assert.equal(wayOf(asked({ kind: "choice", choices: ["a"] })), "choices");
  assert.equal(wayOf(asked({ kind: "otp" })), "text");
  assert.equal(wayOf(asked({ kind: "choice" })), "text");
  assert.equal(wayOf(asked({ kind: "login", fields: [FIELD] })), "form");
});

test("a form of a sign-in can be left for driving, a confirmation cannot", () => {
  assert.deepEqual([mayNeedDriving(asked({ kind: "login" })), mayNeedDriving(asked({ kind: "confirm" })), mayNeedDriving(asked({ kind: "choice" }))], [true, false, false]);
});

test("a question of one line is answered beside it; what has more to read is not", () => {
  const order = asked({ kind: "confirm", reason: "Place the order for 12.90?" });
  assert.equal(isShort(order), true);
  for (const more of [{ instructions: "Look at the cart first." }, { region: {} }, { reason: "x".repeat(141) }, { reason: "a\nb" }, { kind: "login" }, { choices: ["a"] }]) {
    assert.equal(isShort({ ...order, ...more }), false, JSON.stringify(more));
  }
});
