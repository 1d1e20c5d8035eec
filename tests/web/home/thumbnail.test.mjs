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
  thumbnail.allowed = true;
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
  Object.assign(new Thumbnail(picture), { allowed: true, shown: true });
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
  Object.assign(new Thumbnail(picture), { allowed: true, shown: true });
  for (let time = 0; time < 3; time++) {
    await settled();
    t.mock.timers.tick(3000);
  }
  await settled();
  assert.deepEqual([asked.length, picture.hidden], [2, true]);
});

test("nothing is asked for by who may not take screenshots, or before that is known", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = answering(() => new Response("webp"));
  const thumbnail = new Thumbnail(picture);
  thumbnail.shown = true;
  thumbnail.allowed = false;
  await settled();
  assert.equal(asked.length, 0);
  thumbnail.allowed = true;
  await settled();
  assert.equal(asked.length, 1);
});

test("a picture that comes when nothing is to be seen any more is not shown", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {any} */
  let arrive;
  answering(() => new Promise((done) => (arrive = () => done(new Response("webp")))));
  const thumbnail = new Thumbnail(picture);
  Object.assign(thumbnail, { allowed: true, shown: true });
  await settled();
  thumbnail.shown = false;
  arrive();
  await settled();
  assert.equal(picture.hidden, true);
});
