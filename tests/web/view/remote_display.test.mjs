// The remote display: the stream where it can be shown, VNC otherwise.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";
import { replace } from "../browser/loader.mjs";
import { answering, settled } from "../browser/network.mjs";
import { VncConnection } from "../browser/vnc_connection.mjs";

const body = openDocument();
/** The element, without what it shows. */
class Element extends El {
  screen = new El("div");
  size = { width: 1280 };
  lacks = Promise.resolve("codec");
  /** @type {any[]} */
  done = [];
  paste(text) {
    this.done.push(["paste", text]);
  }
  type(text) {
    this.done.push(["type", text]);
  }
}
customElements.define("tandem-view", Element);
globals({ HTMLCanvasElement: El });
replace("/static/stream/tandem-view.js", "data:text/javascript,export {}");
replace("/static/vnc/connection.js", new URL("../browser/vnc_connection.mjs", import.meta.url));
const { RemoteDisplay } = await import("/static/view/remote_display.js");

/** @type {any} */
let screen;
/** @type {any} */
let display;
/** @type {any[]} */
let told = [];

beforeEach(() => {
  told = [];
  VncConnection.made.length = 0;
  location.search = "";
  screen = document.createElement("div");
  body.replaceChildren(screen);
  answering(() => new Response(null));
  display = new RemoteDisplay(screen, {
    state: (state) => told.push(state),
    copied: (copied) => told.push(copied),
    rights: () => told.push("rights"),
    unheard: (reason) => told.push(reason),
  });
});

/** @param {string} name @param {object} detail */
const event = (name, detail) => screen.firstElementChild.dispatchEvent(new CustomEvent(name, { detail }));

test("the stream is shown, and what is typed and pasted goes there", async () => {
  await display.show();
  display.type("hello");
  display.paste("text");
  assert.deepEqual(screen.firstElementChild.done, [["type", "hello"], ["paste", "text"]]);
  assert.equal(await display.missingCapability(), "codec");
  assert.equal(display.place().width, 1280);
});

test("what the element tells is told", async () => {
  await display.show();
  event("state", { state: "connected" });
  event("clipboard", { text: "copied" });
  event("rights", {});
  event("microphone", { reason: "denied" });
  assert.deepEqual(told, ["connected", { text: "copied" }, "rights", "denied"]);
});

test("its switches are the element's attributes", async () => {
  await display.show();
  display.trackpad = true;
  display.fits = true;
  assert.deepEqual([display.trackpad, display.fits, display.microphone], [true, true, undefined]);
  display.trackpad = false;
  assert.deepEqual([...screen.firstElementChild.attributes.keys()], ["resize"]);
});

test("VNC takes the place of a stream that fails four times before it was shown", async () => {
  await display.show();
  for (let time = 0; time < 4; time++) event("state", { state: "lost" });
  await settled();
  assert.equal(screen.childElementCount, 0);
  assert.equal(VncConnection.made[0].connected, true);
});

test("a stream that was shown is waited for", async () => {
  await display.show();
  event("state", { state: "connected" });
  for (let time = 0; time < 9; time++) event("state", { state: "lost" });
  await settled();
  assert.deepEqual([screen.childElementCount, VncConnection.made.length], [1, 0]);
});

test("VNC is shown where it is asked for, and where the sandbox has no stream", async () => {
  location.search = "?picture=vnc";
  await display.show();
  location.search = "";
  answering(() => new Response(null, { status: 404 }));
  await display.show();
  assert.deepEqual(VncConnection.made.map(({ options }) => String(options.address)), ["ws://box.test:8080/websockify", "ws://box.test:8080/websockify"]);
  assert.deepEqual([display.trackpad, await display.missingCapability()], [undefined, ""]);
  VncConnection.made[0].listener.copied("from vnc");
  assert.deepEqual(told, [{ text: "from vnc" }]);
});
