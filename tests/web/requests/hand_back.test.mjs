// Handing control back with a request that one has taken on.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { control, fakeLease, MINE as DRIVING } from "../bar/control.mjs";
import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";
import { LOGIN, MINE } from "./handoffs.mjs";

const body = openDocument();
const { HandBack } = await import("/static/requests/hand_back.js");
const { RequestActions } = await import("/static/requests/request_actions.js");

/** @type {any} */
let lease;
/** @type {any} */
let handBack;
/** @type {any[]} */
let asked = [];

beforeEach(() => {
  body.replaceChildren();
  lease = fakeLease();
  lease.now = control(DRIVING);
  handBack = new HandBack(/** @type {any} */ (body), new RequestActions(lease, () => {}));
  asked = answering(() => null);
});

/** @param {string} text */
async function press(text) {
  handBack.dialog.querySelectorAll("button").find(({ textContent }) => textContent === text).click();
  await settled();
}

test("control goes back at once where nothing was taken on, or by somebody else", async () => {
  await handBack.begin([LOGIN, { ...LOGIN, id: "h3", claimed_by: "bob#5678" }]);
  assert.deepEqual([lease.done, handBack.dialog.open], [["release"], undefined]);
});

test("with a request that one is on, it is asked what becomes of it first", async () => {
  await handBack.begin([LOGIN, MINE]);
  assert.deepEqual([lease.done, handBack.dialog.open, handBack.dialog.querySelector(".reason").textContent], [[], true, "The bank asks who you are"]);
});

for (const [text, outcome] of [["It is done", "done"], ["It is not done", "cannot"]]) {
  test(`${text}: control goes back, and the answer is sent`, async () => {
    await handBack.begin([MINE]);
    handBack.note.value = "as you asked";
    await press(text);
    assert.deepEqual([lease.done, asked[0].path, asked[0].body.outcome, asked[0].body.note], [["release"], "/v1/handoffs/h1/answer", outcome, "as you asked"]);
    assert.equal(handBack.dialog.open, false);
  });
}

test("kept open, control goes back and nothing is answered; cancelled, nothing happens", async () => {
  await handBack.begin([MINE]);
  await press("Cancel");
  assert.deepEqual([lease.done, asked], [[], []]);
  await handBack.begin([MINE]);
  await press("Keep it open");
  assert.deepEqual([lease.done, asked], [["release"], []]);
});
