// The bridge to the page around the iframe, which has the same origin.

import assert from "node:assert/strict";
import { test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";

openDocument();
/** @type {any[]} */
const posted = [];
const parent = { postMessage: (message, origin) => posted.push([message, origin]) };
globals({ window: globalThis, parent });
const { bridgeToParent } = await import("/static/stream/iframe_bridge.js");

/** The element, without what it shows. */
class View extends El {
  /** @type {any[]} */
  done = [];
  type(text) {
    this.done.push(["type", text]);
  }
  paste(text) {
    this.done.push(["paste", text]);
  }
  focus() {
    this.done.push("focus");
  }
}

const view = /** @type {any} */ (new View("tandem-view"));
bridgeToParent(view);
/** @param {any} data @param {object} [from] */
const say = (data, from = {}) => dispatchEvent(Object.assign(new Event("message"), { origin: location.origin, source: parent, data, ...from }));

test("what the element tells, the page around it is told", () => {
  view.dispatchEvent(new CustomEvent("state", { detail: { state: "connected" } }));
  view.dispatchEvent(new CustomEvent("error", { detail: {} }));
  assert.deepEqual(posted, [[{ tandem: "state", state: "connected" }, "http://box.test:8080"]]);
});

test("that page sets attributes, types, pastes and gives the focus", () => {
  say({ tandem: "set", name: "sound", on: 1 });
  say({ tandem: "type", text: "hello" });
  say({ tandem: "paste", text: 7 });
  say({ tandem: "focus" });
  assert.deepEqual([view.hasAttribute("sound"), view.done], [true, [["type", "hello"], ["paste", "7"], "focus"]]);
  say({ tandem: "set", name: "sound", on: false });
  assert.equal(view.hasAttribute("sound"), false);
});

test("no other attribute is set, no other method called, and no other page heard", () => {
  view.done = [];
  say({ tandem: "set", name: "src", on: true });
  say({ tandem: "set", name: "onclick", on: true });
  say({ tandem: "remove" });
  say(null);
  say({ tandem: "type", text: "x" }, { origin: "http://evil.test" });
  say({ tandem: "type", text: "x" }, { source: {} });
  assert.deepEqual([view.done, [...view.attributes.keys()]], [[], []]);
});

test("a page that is in no frame has no bridge", () => {
  globals({ parent: globalThis });
  const alone = /** @type {any} */ (new View("tandem-view"));
  bridgeToParent(alone);
  posted.length = 0;
  alone.dispatchEvent(new CustomEvent("state", { detail: {} }));
  assert.deepEqual(posted, []);
});
