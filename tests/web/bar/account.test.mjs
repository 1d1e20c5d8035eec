// Who is signed in.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

const body = openDocument();
const { Account } = await import("/static/bar/account.js");

/** @type {any} */
let shown;
/** @type {any} */
let account;

beforeEach(() => {
  body.replaceChildren();
  shown = parts(body, { caller: "button", signedIn: "p", signOut: "button" });
  account = new Account(shown);
});

test("it says who one is, and nothing where nobody signs in", () => {
  account.show("ann#1234abcd");
  assert.deepEqual([shown.caller.hidden, shown.caller.textContent, shown.signedIn.textContent], [false, "ann", "Signed in as ann · 1234"]);
  account.show("anyone#1234");
  assert.equal(shown.caller.hidden, true);
});

test("signing out ends the session and asks for the key again", async () => {
  let reloads = 0;
  Object.assign(location, { reload: () => reloads++ });
  const asked = answering(() => null);
  shown.signOut.click();
  await settled();
  assert.deepEqual([asked[0].method, asked[0].path, reloads], ["DELETE", "/v1/session", 1]);
});
