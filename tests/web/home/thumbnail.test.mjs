// The thumbnail is refreshed while the page is visible, until a screenshot is forbidden.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

openDocument();
const { Thumbnail } = await import("/static/home/thumbnail.js");

/** @type {any} */
let picture;

beforeEach(() => {
  picture = document.createElement("img");
  Object.assign(picture, { hidden: true, src: "" });
  Object.assign(document, { hidden: false });
});

test("a screenshot is shown, and another one after a while", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = answering(() => new Response("webp"));
  const thumbnail = new Thumbnail(picture);
  thumbnail.shown = true;
  thumbnail.shown = true;
  await settled();
  assert.match(picture.src, /^blob:/);
  assert.deepEqual([picture.hidden, asked.length], [false, 1]);
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(asked.length, 2);
  thumbnail.shown = false;
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(asked.length, 2);
});

test("nothing is asked for while nobody looks", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = answering(() => new Response("webp"));
  Object.assign(document, { hidden: true });
  new Thumbnail(picture).shown = true;
  await settled();
  assert.equal(asked.length, 0);
  Object.assign(document, { hidden: false });
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(asked.length, 1);
});

test("a failure is tried again, and what is forbidden is not", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const statuses = [503, 403];
  const asked = answering(() => new Response(null, { status: statuses.shift() }));
  new Thumbnail(picture).shown = true;
  for (let time = 0; time < 3; time++) {
    await settled();
    t.mock.timers.tick(3000);
  }
  await settled();
  assert.deepEqual([asked.length, picture.hidden], [2, true]);
});
