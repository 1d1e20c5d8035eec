// <tandem-requests>: the cards follow the bar.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { REACH } from "./approvals.mjs";
import { CONFIRM, fakeActions, LOGIN, USER } from "./handoffs.mjs";

/** @type {string[][]} */
const notified = [];
const body = openDocument();
globals({
  Notification: class {
    static permission = "granted";
    constructor(title, options) {
      notified.push([title, options.body]);
    }
  },
});
const { lineOf, RequestList } = await import("/static/requests/requests.js");

/** @type {any} */
let bar;
/** @type {any} */
let list;

/** @param {string[]} [attributes] */
function open(attributes = []) {
  bar = Object.assign(document.createElement("tandem-bar"), { handoffs: [], requests: fakeActions() });
  list = new RequestList("tandem-requests");
  for (const name of attributes) list.setAttribute(name, "");
  body.replaceChildren(bar, /** @type {any} */ (list));
  list.connectedCallback();
}

/** @param {...any} handoffs */
function tell(...handoffs) {
  bar.handoffs = handoffs;
  bar.dispatchEvent(new Event("handoffs"));
}

beforeEach(() => {
  notified.length = 0;
  open();
});

const titles = () => list.querySelectorAll("h2").map(({ textContent }) => textContent);

test("there is a card for each open request, in their order, and none without one", () => {
  assert.equal(list.hidden, true);
  tell(LOGIN, CONFIRM);
  assert.deepEqual([list.hidden, titles()], [false, ["The agent asks you to sign in", "The agent asks you to confirm"]]);
  tell(CONFIRM);
  assert.deepEqual(titles(), ["The agent asks you to confirm"]);
  tell();
  assert.equal(list.hidden, true);
});

test("a bar that comes later tells it, too", () => {
  bar.requests = undefined;
  tell(LOGIN);
  assert.equal(list.hidden, true);
  bar.requests = fakeActions();
  bar.dispatchEvent(new Event("control"));
  assert.equal(titles().length, 1);
});

test("a card that stays is the same one", () => {
  tell(LOGIN);
  const card = list.querySelector("section");
  tell(LOGIN, CONFIRM);
  assert.equal(list.querySelector("section"), card);
});

test("whoever had begun to answer is told why the request is gone, others are not", () => {
  tell({ ...LOGIN, fields: [USER] }, CONFIRM);
  list.querySelector("input").value = "ann";
  tell();
  assert.deepEqual(bar.requests.done, [["gone", "h1"]]);
});

test("after a change nothing can be answered for a moment", async () => {
  tell(CONFIRM);
  const disabled = () => list.querySelectorAll(".request button").every((button) => button.disabled);
  assert.equal(disabled(), true);
  await new Promise((done) => setTimeout(done, 800));
  assert.equal(disabled(), false);
});

test("it can be folded away, and a new request unfolds it", () => {
  tell(LOGIN);
  const handle = list.querySelector(".handle");
  handle.click();
  assert.deepEqual([list.hasAttribute("data-folded"), handle.getAttribute("aria-expanded"), handle.textContent], [true, "false", "Show the request (1)"]);
  tell(LOGIN, CONFIRM);
  assert.deepEqual([list.hasAttribute("data-folded"), handle.textContent], [false, "Hide the request"]);
});

test("a request that is new calls whoever looks elsewhere, once, and by the page's own list alone", () => {
  Object.assign(document, { hidden: true });
  tell(LOGIN);
  tell(LOGIN);
  assert.deepEqual(notified, [["The agent asks you to sign in", "The bank asks who you are"]]);
  bar.append(list);
  tell(LOGIN, CONFIRM);
  assert.equal(notified.length, 1);
  Object.assign(document, { hidden: false });
});

test("who takes a request on where no screen is goes to the live page", async () => {
  /** @type {string[]} */
  const gone = [];
  globals({ location: { assign: (path) => gone.push(path) } });
  const take = async () => {
    tell(LOGIN);
    list.querySelectorAll("button").find(({ textContent }) => textContent === "Take this on").click();
    await new Promise((done) => setTimeout(done, 10));
  };
  await take();
  open(["stay"]);
  await take();
  open();
  bar.setAttribute("screen", "");
  await take();
  assert.deepEqual(gone, ["/view"]);
});

test("an approval has a card of its own, and opens what the bar has the cards in", () => {
  let opened = 0;
  const panel = Object.assign(document.createElement("div"), { togglePopover: () => opened++ });
  panel.setAttribute("popover", "");
  bar.append(panel);
  panel.append(list);
  tell(CONFIRM);
  assert.equal(opened, 0);
  Object.assign(document, { hidden: true });
  tell(CONFIRM, REACH);
  tell(CONFIRM, REACH);
  Object.assign(document, { hidden: false });
  assert.deepEqual([opened, list.querySelectorAll(".approval").length], [1, 1]);
  assert.deepEqual(notified, [["The agent asks you to allow something", "curl in shell 2 wants to reach api.example.com:443"]], "on every page: it waits for seconds");
  tell();
  assert.deepEqual(bar.requests.done, [["gone", "h7"]], "what became of it is said");
});

test("an approval is one line by its sentence, others by the agent's words", () => {
  assert.equal(lineOf(REACH), "curl in shell 2 wants to reach api.example.com:443");
  assert.equal(lineOf(CONFIRM), "The agent asks you to confirm: Place the order for 12.90?");
});
