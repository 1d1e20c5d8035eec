// File drop: each file is uploaded under a free name, one after the other, and the page tells how it went.

import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

/** An upload that the test carries out. */
class Upload {
  /** @type {Upload[]} */
  static all = [];
  upload = /** @type {any} */ ({});
  status = 0;
  /** @type {any} */
  response = null;
  open(method, path) {
    [this.method, this.path] = [method, path];
  }
  send(body) {
    this.body = body;
    Upload.all.push(this);
  }
  /** @param {number} status @param {any} response */
  end(status, response) {
    Object.assign(this, { status, response });
    /** @type {any} */ (this).onload();
  }
}

const body = openDocument();
globals({ XMLHttpRequest: Upload });
mock.timers.enable({ apis: ["setTimeout"] }); // what became of a file is shown for a while
const { FileDrop } = await import("/static/view/file_drop.js");

/** @type {any} */
let shown;

beforeEach(() => {
  body.replaceChildren();
  Upload.all = [];
  shown = parts(body, { over: "main", notes: "div", choose: "button", files: "input" });
  new FileDrop(shown);
});

/** @param {string} type @param {object} transfer */
const drag = (type, transfer) => {
  const event = Object.assign(new Event(type, { cancelable: true }), { dataTransfer: transfer });
  shown.over.dispatchEvent(event);
  return event;
};
/** @param {string[]} names */
const drop = (...names) => drag("drop", { types: ["Files"], files: names.map((name) => new File(["content"], name)) });
const texts = () => shown.notes.children.map(({ children: [text] }) => text.textContent);

test("files over the screen are welcome, and text that is dragged is left to the browser", () => {
  const transfer = { types: ["Files"], dropEffect: "none" };
  assert.equal(drag("dragover", transfer).defaultPrevented, true);
  assert.equal(transfer.dropEffect, "copy");
  assert.match(shown.over.dataset.drop, /^Drop files here/);
  drag("dragleave", transfer);
  assert.equal(shown.over.dataset.drop, undefined);
  assert.equal(drag("dragover", { types: ["text/plain"] }).defaultPrevented, false);
  assert.equal(drag("drop", { types: ["text/plain"] }).defaultPrevented, false);
});

test("a file goes to the desktop's downloads, and its path is told", async () => {
  answering(() => ({ files: [] }));
  drop("notes.txt");
  await settled();
  const [upload] = Upload.all;
  assert.deepEqual([upload.method, upload.path, upload.body.get("path")], ["POST", "/v1/file/upload", "~/Downloads/notes.txt"]);
  upload.upload.onprogress({ loaded: 1, total: 4 });
  assert.equal(shown.notes.querySelector("progress").value, 0.25);
  upload.end(200, { success: true, data: { file_path: "/home/gem/Downloads/notes.txt" } });
  await settled();
  assert.deepEqual(texts(), ["Uploaded to /home/gem/Downloads/notes.txt"]);
  assert.equal(shown.notes.querySelector("progress"), null);
  mock.timers.runAll();
  assert.deepEqual(texts(), []);
});

test("nothing on the desktop is overwritten", async () => {
  const free = async (name, taken) => {
    answering(() => ({ files: taken.map((each) => ({ name: each })) }));
    drop(name);
    await settled();
    Upload.all.at(-1)?.end(200, { success: true, data: { file_path: "" } });
    await settled();
    return Upload.all.at(-1)?.body.get("path").slice("~/Downloads/".length);
  };
  assert.equal(await free("a.tar.gz", ["a.tar.gz", "a.tar (1).gz"]), "a.tar (2).gz");
  assert.equal(await free("README", ["README"]), "README (1)");
  assert.equal(await free(".bashrc", [".bashrc"]), ".bashrc (1)");
  assert.equal(await free("new.txt", ["other.txt"]), "new.txt");
});

test("several files are sent one after the other", async () => {
  answering(() => ({ files: [] }));
  drop("one", "two");
  await settled();
  assert.equal(Upload.all.length, 1);
  Upload.all[0].end(200, { success: true, data: { file_path: "/1" } });
  await settled();
  assert.equal(Upload.all.length, 2);
});

test("a file that is refused says why, and the next is sent", async () => {
  answering(() => ({ files: [] }));
  drop("huge", "small");
  await settled();
  Upload.all[0].end(413, { success: false, message: "the body is over the limit of this sandbox" });
  await settled();
  assert.equal(texts()[0], "That did not work: huge: the body is over the limit of this sandbox");
  assert.equal(Upload.all.length, 2);
});

test("a folder that cannot be listed sends nothing", async () => {
  answering(() => refusing(403, "that needs the scope files"));
  drop("one");
  await settled();
  assert.deepEqual([Upload.all.length, texts()[0]], [0, "That did not work: one: that needs the scope files"]);
});

test("a chosen file is sent as a dropped one, and can be chosen again", async () => {
  answering(() => ({ files: [] }));
  shown.files.files = [new File(["x"], "chosen.txt")];
  shown.files.value = "C:\\fakepath\\chosen.txt";
  shown.files.onchange();
  await settled();
  assert.deepEqual([Upload.all[0].body.get("path"), shown.files.value], ["~/Downloads/chosen.txt", ""]);
});
