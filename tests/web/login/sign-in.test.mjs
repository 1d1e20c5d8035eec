// The sign-in page: a key becomes a ticket, and a refusal a sentence.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { openPage } from "../browser/page.mjs";

const body = openPage("login");
/** @type {any[]} */
let asked = [];
/** @type {string[]} */
let replaced = [];
let key = "";
globals({
  FormData: class { get = () => key; },
  location: Object.assign(new URL("http://box.test/terminal?session_id=7&ticket=spent"), { replace: (address) => replaced.push(address) }),
});
await import("/static/login/sign-in.js");
const form = /** @type {any} */ (body.querySelector("#sign-in"));
const problem = /** @type {any} */ (body.querySelector("#problem"));

beforeEach(() => ([asked, replaced] = [[], []]));

/** @param {string} given @param {() => Response} answer */
async function signIn(given, answer) {
  key = given;
  globals({ fetch: async (path, options) => (asked.push([path, options.method, options.headers.Authorization, options.credentials]), answer()) });
  form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
}

test("a key is exchanged for a ticket, and the page that was asked for opens with it", async () => {
  await signIn("  secret \n", () => Response.json({ ticket: "fresh" }));
  assert.deepEqual(asked, [["/tickets", "POST", "Bearer secret", "omit"]]);
  assert.deepEqual(replaced, ["http://box.test/terminal?session_id=7&ticket=fresh"]);
});

test("a key that is refused is told so, and another can be tried", async () => {
  await signIn("wrong", () => Response.json({ message: "wrong key: it is neither this sandbox's nor a token" }, { status: 401 }));
  assert.deepEqual([problem.hidden, problem.textContent, form.querySelector("button").disabled], [false, "Wrong key.", false]);
  await signIn("old", () => Response.json({ message: "the token has expired" }, { status: 401 }));
  assert.equal(problem.textContent, "The token has expired.");
  assert.deepEqual(replaced, []);
});

test("a sandbox that fails or does not answer is told apart from a wrong key", async () => {
  await signIn("key", () => new Response("", { status: 503 }));
  assert.equal(problem.textContent, "The sandbox answered 503.");
  await signIn("key", () => {
    throw new TypeError("fetch failed");
  });
  assert.equal(problem.textContent, "The sandbox does not answer. Is it still running?");
});

test("while a key is tried, nothing of the last refusal is shown, and no other is sent", async () => {
  const trying = signIn("key", () => Response.json({ ticket: "t" }));
  assert.deepEqual([problem.hidden, form.querySelector("button").disabled], [true, true]);
  await trying;
});

test("who opened a link that no longer works is told so", () => {
  const used = body.querySelector("#used");
  assert.deepEqual([used.hidden, used.textContent], [false, "This link was already used, or has expired. Ask for a new one."]);
});
