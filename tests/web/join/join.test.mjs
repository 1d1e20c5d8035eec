// The page of an invitation: a guest says a name and comes in.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { openPage } from "../browser/page.mjs";

const TICKET = `tk-${"A".repeat(43)}`;
/** @type {string[]} */
let replaced = [];
const body = openPage("join");
let opened = 0;
const find = (selector) => /** @type {any} */ (body.querySelector(selector));

/** @param {string} hash */
async function open(hash) {
  globals({ location: Object.assign(new URL(`http://box.test/join${hash}`), { replace: (address) => replaced.push(address) }) });
  await import(`/static/join/join.js?${++opened}`);
}

/** @param {string} name */
function join(name) {
  find("#name").value = name;
  find("#join").dispatchEvent(new Event("submit", { cancelable: true }));
}

beforeEach(() => void (replaced = []));

test("a link that is not whole says so, and asks for nothing", async () => {
  await open("#ticket=tk-short");
  assert.deepEqual([find("#broken").hidden, find("#join").hidden], [false, true]);
});

test("a guest says a name and comes in with it", async () => {
  await open(`#ticket=${TICKET}`);
  assert.deepEqual([find("#broken").hidden, find("#join").hidden], [true, false]);
  join("  Mia   Sol ");
  assert.deepEqual(replaced.at(-1), `/view?ticket=${TICKET}&guest=Mia+Sol`);
});

test("a name that nobody could read is not sent", () => {
  for (const name of ["a\u202eb", "\u5f20".repeat(20)]) join(name);
  assert.deepEqual([replaced, find("#problem").hidden], [[], false]);
});

test("a name that the inviter gave is kept", async () => {
  await open(`#ticket=${TICKET}&name=Mia`);
  assert.deepEqual([find("#name").value, find("#name").readOnly], ["Mia", true]);
});
