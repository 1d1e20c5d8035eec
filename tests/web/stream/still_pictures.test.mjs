// Pictures over HTTP, one after the other, while somebody looks.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

openDocument();
const { StillPictures } = await import("/static/stream/still_pictures.js");

/** @type {any} */
let picture;
/** @type {boolean[]} */
let told = [];
/** @type {any} */
let pictures;

beforeEach((t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  told = [];
  picture = document.createElement("img");
  Object.assign(picture, { hidden: true, src: "" });
  Object.assign(document, { hidden: false });
  pictures = new StillPictures(picture, (hidden) => told.push(hidden));
});

/** @param {any} t */
async function second(t) {
  t.mock.timers.tick(1000);
  await settled();
}

test("a picture is shown, and the next one a second after it, until it is stopped", async (t) => {
  const asked = answering(() => new Response("jpeg"));
  pictures.start();
  pictures.start();
  await settled();
  assert.match(picture.src, /^blob:/);
  assert.deepEqual([picture.hidden, asked.map(({ path }) => path)], [false, ["/v1/screen/picture"]]);
  await second(t);
  assert.equal(asked.length, 2);
  pictures.stop();
  await second(t);
  assert.deepEqual([picture.hidden, asked.length], [true, 2]);
});

test("a screen that a person hides is told, and shown again when that ends", async (t) => {
  const statuses = [423, 423, 200];
  answering(() => new Response(null, { status: statuses.shift() }));
  pictures.start();
  await settled();
  assert.equal(picture.hidden, true);
  await second(t);
  await second(t);
  assert.deepEqual([told, picture.hidden], [[true, true, false], false]);
  pictures.stop();
});

test("nothing is asked for while nobody looks, and a failure is tried again", async (t) => {
  const asked = answering(() => {
    throw new TypeError("no network");
  });
  Object.assign(document, { hidden: true });
  pictures.start();
  await settled();
  assert.equal(asked.length, 0);
  Object.assign(document, { hidden: false });
  await second(t);
  await second(t);
  assert.equal(asked.length, 2);
  pictures.stop();
});

test("a picture that comes after the stop is not shown", async () => {
  let answer = (/** @type {Response} */ _) => {};
  answering(() => new Promise((done) => (answer = done)));
  pictures.start();
  await settled();
  pictures.stop();
  answer(new Response("jpeg"));
  await settled();
  assert.deepEqual([told, picture.hidden], [[], true]);
});
