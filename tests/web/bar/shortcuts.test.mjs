// The keyboard's shortcuts.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

const body = openDocument();
const { Shortcuts } = await import("/static/bar/shortcuts.js");

/** A dialog that a test sees open and close. */
class Dialog extends El {
  open = false;
  showModal() {
    this.open = true;
  }
  close() {
    this.open = false;
  }
}
customElements.define("dialog", Dialog);

/** @type {string[]} */
let done = [];
const bar = { take: () => done.push("take"), leave: () => done.push("leave"), hide: () => done.push("hide"), asked: () => done.push("asked") };
const shortcuts = new Shortcuts({ page: "live", signedIn: true, screen: true }, bar);
shortcuts.listen();

beforeEach(() => {
  done = [];
});

/** @param {object} more @param {object} [target] */
function press(more, target = body) {
  const event = Object.assign(new Event("keydown", { cancelable: true }), { ctrlKey: false, altKey: false, metaKey: false, composedPath: () => [target], ...more });
  dispatchEvent(event);
  return event.defaultPrevented;
}
const dialog = () => /** @type {any} */ (body.querySelector("#shortcuts"));

test("they act, whatever has the focus", () => {
  const held = { ctrlKey: true, altKey: true };
  for (const key of ["Enter", "Backspace", "p", "a"]) assert.equal(press({ key, ...held }, document.createElement("textarea")), true);
  assert.deepEqual(done, ["take", "leave", "hide", "asked"]);
  assert.deepEqual([press({ key: "Enter" }), press({ key: "q", ...held })], [false, false]);
});

test("a question mark opens the list and closes it, and is typed where something is typed", async () => {
  for (const name of ["input", "textarea", "select", "canvas"]) assert.equal(press({ key: "?" }, document.createElement(name)), false);
  assert.equal(press({ key: "?" }, { tagName: "DIV", isContentEditable: true }), false);
  assert.equal(dialog(), null);
  assert.equal(press({ key: "?" }), true);
  await settled();
  assert.deepEqual([dialog().open, dialog().querySelectorAll("kbd").length], [true, 7]);
  press({ key: "?" });
  await settled();
  assert.equal(dialog().open, false);
  press({ key: "?" });
  await settled();
  dialog().querySelector("button").click();
  assert.equal(dialog().open, false);
});

test("a button opens it, too", async () => {
  const button = new Shortcuts({ page: "", signedIn: false, screen: false }).button();
  assert.equal(button.getAttribute("aria-label"), "Keyboard shortcuts");
  body.replaceChildren();
  button.click();
  await settled();
  assert.equal(dialog().open, true);
});

test("those of a bar that is gone do nothing", () => {
  shortcuts.close();
  assert.equal(press({ key: "Enter", ctrlKey: true, altKey: true }), false);
});
