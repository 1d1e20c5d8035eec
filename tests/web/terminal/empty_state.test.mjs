// What stands in place of a terminal where there is none to show.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { EmptyState } = await import("/static/terminal/empty_state.js");

/** @type {any} */
let place;
/** @type {any} */
let empty;
/** @type {any[]} */
let done = [];

beforeEach(() => {
  body.innerHTML = '<section hidden><div class="card"><h2></h2><p></p><ul></ul><button class="create"></button></div></section>';
  place = body.firstElementChild;
  place.hidden = true;
  done = [];
  empty = new EmptyState(place, { open: (id) => done.push(["open", id]), close: (id) => done.push(["close", id]), create: () => done.push(["create"]) });
});

const heading = () => place.querySelector("h2").textContent;
const rows = () => place.querySelector("ul").children;

test("it says why there is no terminal, and a new session is one button away", () => {
  empty.show("none");
  assert.deepEqual([place.hidden, heading(), empty.reason], [false, "No terminal is open yet", "none"]);
  empty.button.click();
  assert.deepEqual(done, [["create"]]);
  empty.hide();
  assert.deepEqual([place.hidden, empty.reason], [true, undefined]);
});

test("where there is no room, the choice is among the sessions that there are", () => {
  empty.show("full");
  empty.list([{ id: "a", title: "Agent · ~" }, { id: "b", title: "You · <b>" }]);
  assert.equal(empty.button.hidden, true);
  assert.deepEqual(rows().map((row) => row.children.map((each) => each.textContent)), [["Agent · ~", "Close"], ["You · <b>", "Close"]]);
  rows()[1].children[0].click();
  rows()[0].children[1].click();
  assert.deepEqual(done, [["open", "b"], ["close", "a"]]);
  assert.equal(rows()[0].children[1].getAttribute("aria-label"), "Close: Agent · ~");
});

test("who is kept from a new session is not offered one", () => {
  empty.show("held");
  assert.deepEqual([heading(), empty.button.hidden], ["No new session right now", true]);
  empty.show("ended");
  assert.deepEqual([heading(), empty.button.hidden], ["This session was closed", false]);
});

test("a list that is the same is not drawn again, so that the focus stays", () => {
  empty.list([{ id: "a", title: "Agent · ~" }]);
  const first = rows()[0];
  empty.list([{ id: "a", title: "Agent · ~" }]);
  assert.equal(rows()[0], first);
  empty.list([{ id: "a", title: "Agent · /etc" }]);
  assert.notEqual(rows()[0], first);
});
