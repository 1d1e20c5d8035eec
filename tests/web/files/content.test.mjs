// What the start of a file can be shown as.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pictureType, textOf } from "/static/files/content.js";

/** @param {string} text each character a byte */
const bytes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const utf8 = new TextEncoder();

test("only raster pictures are pictures, by what they hold", () => {
  const found = ["\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0", "GIF89a", "RIFF\0\0\0\0WEBP", "BM\x01\0\0\0\0\0\0\0", "\0\0\0\x20ftypavif"].map((head) => pictureType(bytes(head)));
  assert.deepEqual(found, ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"]);
  for (const other of ["<svg xmlns=''>", "<!doctype html>", "%PDF-1.7", "BM is a name", ""]) assert.equal(pictureType(bytes(other)), "");
});

test("a text is read in its encoding, and a letter that the end cuts is left out", () => {
  assert.equal(textOf(utf8.encode("é\r\na\tb")), "é\na\tb");
  assert.equal(textOf(utf8.encode("aé").slice(0, 2)), "a");
  assert.equal(textOf(Uint8Array.of(0xff, 0xfe, 0x61, 0)), "a");
});

test("bytes that are no text are none", () => {
  assert.equal(textOf(bytes("\0\x01")), undefined);
  assert.equal(textOf(bytes("\xff\xfa\xfb".repeat(9))), undefined);
});

test("what cannot be seen or turns the text is shown as such, and stacked marks end", () => {
  assert.equal(textOf(utf8.encode("a\u202eb\u001b[31m\u2066")), "a\u{fffd}b\u{fffd}[31m\u{fffd}");
  assert.equal(textOf(utf8.encode(`a${"\u0301".repeat(50)}`)), `a${"\u0301".repeat(4)}`);
  assert.equal(textOf(utf8.encode("👩\u200d👩")), "👩\u200d👩");
});
