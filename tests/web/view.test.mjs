// The stream's wire and decoders in JavaScript, held to the vectors that those in Python are held to.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Picture } from "../../sandbox_server/web/view/picture.js";
import { parse, say } from "../../sandbox_server/web/view/wire.js";

const { decompress } = await import(process.env.FZSTD);
const vectors = JSON.parse(readFileSync(new URL("../stream/vectors.json", import.meta.url), "utf-8"));

/** @param {string} hex */
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
/** @param {ArrayBuffer} buffer */
const hex = (buffer) => Buffer.from(buffer).toString("hex");

/** @param {Picture} picture */
function digest({ pixels }) {
  const rgb = new Uint8Array(pixels.length * 3);
  pixels.forEach((pixel, index) => rgb.set([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255], index * 3));
  return createHash("sha256").update(rgb).digest("hex");
}

/** @param {Picture} picture @param {import("../../sandbox_server/web/view/wire.js").Operation} operation */
function draw(picture, operation) {
  if (operation.kind === "exact") picture.exact(decompress(operation.packed, new Uint8Array(operation.length)));
  else if (operation.kind === "moves") picture.move(operation.moves);
}

test("the golden messages show the golden frames", () => {
  let picture = new Picture(1, 1);
  for (const { message, sha256 } of vectors.shown) {
    const read = parse(bytes(message).buffer);
    if (read.kind === "hello") picture = new Picture(read.width, read.height);
    else if (read.kind === "part") read.operations.forEach((operation) => draw(picture, operation));
    assert.equal(digest(picture), sha256);
  }
});

test("what a viewer says has its golden bytes", () => {
  const said = {
    Hello: say.hello(true),
    Ack: say.ack(4_000_000_000, 17),
    Point: say.point(1279, 1023, 5),
    Wheel: say.wheel(-120, 240),
    Key: say.key(0x1000041, true),
    Text: say.text("日本語"),
    Copied: say.copied("text\nof two lines"),
    Ping: say.ping(7),
    Visible: say.visible(false),
    Whole: say.whole(),
    Listens: say.listens(true),
    Clip: say.clip({ "text/html": new TextEncoder().encode("<b>bold</b>"), "text/plain": new TextEncoder().encode("bold") }),
  };
  assert.deepEqual(Object.fromEntries(Object.entries(said).map(([name, message]) => [name, hex(message)])), vectors.said);
});

test("messages that were damaged or cut off are refused or drawn within the picture", () => {
  let seed = 1;
  const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
  for (let round = 0; round < 2000; round++) {
    const message = bytes(vectors.shown[1 + random(vectors.shown.length - 1)].message);
    for (let times = random(4); times >= 0; times--) message[random(message.length)] = random(256);
    const picture = new Picture(...vectors.size);
    try {
      const read = parse(message.slice(0, random(message.length + 1)).buffer);
      if (read.kind === "part") read.operations.filter(({ length }) => !(length > 1e6)).forEach((operation) => draw(picture, operation));
    } catch (error) {
      assert.ok(error instanceof Error);
    }
    assert.equal(picture.pixels.length, vectors.size[0] * vectors.size[1]);
  }
});
