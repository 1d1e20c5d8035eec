// The preview of a file.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";

const body = openDocument();
location.search = "?lang=en";
const { Preview } = await import("/static/files/preview.js");

/** @type {any} */
let shown;
/** @type {any} */
let preview;
/** @type {string[]} */
let asked;
/** @type {string[]} */
let revoked;

beforeEach(() => {
  body.replaceChildren();
  shown = parts(body, { place: "section", title: "h2", note: "p", content: "div", download: "a" });
  preview = new Preview(shown);
  [asked, revoked] = [[], []];
  URL.createObjectURL = (blob) => `blob:${/** @type {Blob} */ (blob).type}`;
  URL.revokeObjectURL = (address) => revoked.push(address);
});

/** @param {BodyInit} content @param {number} [whole] its size */
function holds(content, whole) {
  globals({
    fetch: async (/** @type {string} */ path) => {
      asked.push(path);
      return new Response(content, { status: 206, headers: whole ? { "Content-Range": `bytes 0-9/${whole}` } : {} });
    },
  });
}

test("a text is shown as text, with its size", async () => {
  holds("<script>1</script>");
  await preview.show("/d/a.html", "a.html", "1");
  assert.deepEqual([shown.title.textContent, shown.content.textContent, shown.note.textContent], ["a.html", "<script>1</script>", "18 B"]);
  assert.equal(shown.content.firstElementChild.localName, "pre");
  assert.deepEqual([shown.download.href, shown.download.download], ["/v1/file/download?path=%2Fd%2Fa.html", "a.html"]);
});

test("of a large text it says that it is cut", async () => {
  holds("start", 1 << 20);
  await preview.show("/d/a", "a", "1");
  assert.equal(shown.note.textContent, "The first 5 B of 1.0 MiB are shown. Download it to see all.");
});

test("a picture is a blob of its own type, and is given back", async () => {
  holds("GIF89a");
  await preview.show("/d/a.svg", "a.svg", "1");
  assert.equal(shown.content.firstElementChild.src, "blob:image/gif");
  preview.close();
  assert.deepEqual([revoked, shown.place.hidden, shown.content.children.length], [["blob:image/gif"], true, 0]);
});

test("a picture that is too large, a binary and an empty file are told", async () => {
  holds("GIF89a", 1 << 30);
  await preview.show("/d/a", "a", "1");
  assert.match(shown.note.textContent, /^The picture has 1\.0 GiB/);
  holds("\0\0");
  await preview.show("/d/b", "b", "1");
  assert.match(shown.note.textContent, /^2 B\. This kind of file has no preview/);
  holds("");
  await preview.show("/d/c", "c", "1");
  assert.equal(shown.note.textContent, "The file is empty.");
});

test("what is shown already is not asked for again, and a new version is", async () => {
  holds("x");
  await preview.show("/d/a", "a", "1");
  await preview.show("/d/a", "a", "1");
  assert.equal(asked.length, 1);
  holds("y");
  await preview.show("/d/a", "a", "2");
  assert.deepEqual([asked.length, shown.content.textContent], [2, "y"]);
});

test("a file that cannot be read is told in words", async () => {
  globals({ fetch: async () => Response.json({ message: "no" }, { status: 404 }) });
  await preview.show("/d/a", "a", "1");
  assert.equal(shown.note.textContent, "That did not work. It is not there any more.");
});
