// What is said of the connection over the picture.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

openDocument();
const { ConnectionNotice } = await import("/static/stream/connection_notice.js");

/** @type {any} */
let screen;
/** @type {any} */
let notice;
/** @type {any[]} */
let told = [];

beforeEach((t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  told = [];
  screen = document.createElement("div");
  notice = new ConnectionNotice(screen, { size: (size) => told.push(size), hidden: (hidden) => told.push(hidden) });
});

/** @param {string} state */
function show(state) {
  notice.show(state);
  return [notice.element.hidden ? "" : notice.element.textContent, screen.classList.contains("stale")];
}

test("a slow connection and one that has stalled are told, and only the latter's picture is grey", () => {
  assert.deepEqual(show("connected"), ["", false]);
  assert.deepEqual(show("slow"), ["Connection is slow", false]);
  assert.deepEqual(show("stalled"), ["Reconnecting… your input is not sent", true]);
  assert.deepEqual(show("lost"), ["", true]);
  assert.deepEqual(show("connected"), ["", false]);
});

test("a picture that was never shown is not grey", () => {
  assert.deepEqual(show("lost"), ["", false]);
});

test("where WebSockets are blocked, it says what is missing, and shows pictures", async () => {
  const asked = answering(() => new Response("jpeg"));
  const [said] = show("blocked");
  assert.match(said, /^This network blocks WebSockets\. Watching by pictures instead\.\n.*Upgrade and Connection\.$/);
  await settled();
  Object.assign(notice.still, { naturalWidth: 1280, naturalHeight: 800 });
  notice.still.dispatchEvent(new Event("load"));
  assert.deepEqual([asked.length, notice.still.hidden, told], [1, false, [false, { width: 1280, height: 800 }]]);
  show("connected");
  assert.equal(notice.still.hidden, true);
  show("blocked");
  notice.close();
  await settled();
  assert.equal(notice.still.hidden, true);
});
