// The file browser.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

const body = openDocument();
location.search = "?lang=en";
globals({ innerHeight: 600 });
const { FileBrowser } = await import("/static/files/file_browser.js");

/** @type {any} */
let shown;
/** @type {any} */
let browser;
/** @type {any} */
let files;
/** @type {any} */
let answer;
/** @type {string[]} */
let told;
/** @type {any[]} */
let previewed;
/** @type {any[]} */
let asked;

/** @param {string} name @param {object} [more] */
const entry = (name, more) => ({ name, path: `/d/${name}`, is_directory: false, size: 1, modified_time: null, ...more });

beforeEach(async () => {
  body.innerHTML = '<section id="listing"><button></button><table><thead><tr></tr></thead><tbody></tbody></table></section>';
  shown = { listing: body.firstElementChild, ...parts(body, { path: "nav", state: "p", menu: "div" }) };
  [files, answer, told, previewed] = [[entry("a"), entry(".b"), entry("sub", { is_directory: true })], undefined, [], []];
  asked = answering((_, path) => (path.endsWith("/list") ? (files instanceof Response ? files : { files, total_count: files.length }) : path.endsWith("/glob") ? { files: [entry("deep/a")], truncated: false } : {}));
  const preview = /** @type {any} */ ({ path: "", show: async (...given) => previewed.push(given), close: () => previewed.push("closed") });
  browser = new FileBrowser(shown, { preview, question: { ask: async () => answer }, notify: (text) => told.push(text) });
  await browser.go("#path=/d", "/home");
});

const names = () => shown.listing.querySelectorAll("bdi").map(({ textContent }) => textContent);
const said = () => shown.state.textContent;
/** What was changed. */
const changes = () => asked.filter(({ path }) => !/list|glob/.test(path)).map(({ path, body: sent }) => [path.split("/").at(-1), sent]);
/** @param {string} name @param {number} item of its menu */
async function choose(name, item) {
  const row = shown.listing.querySelectorAll("tr").find((each) => each.dataset.path === `/d/${name}`);
  row.querySelector("button").click();
  shown.menu.children[item].click();
  await settled();
}

test("it shows the folder of the address, and the folders on the way", () => {
  assert.deepEqual([names(), said()], [["sub", "a"], "Folders: 1 · Files: 1 · Hidden: 1"]);
  assert.deepEqual(shown.path.querySelectorAll("a").map(({ textContent, href }) => [textContent, href]), [["Whole disk", "#path=/"], ["d", "#path=/d"]]);
  browser.showHidden(true);
  assert.deepEqual([names(), said()], [["sub", ".b", "a"], "Folders: 1 · Files: 2"]);
});

test("an address without a folder leads to the start", async () => {
  await browser.go("", "/home");
  assert.equal(asked.at(-1).body.path, "/home");
});

test("a file of the address is previewed, by its version", async () => {
  await browser.go("#path=/d&open=a", "/home");
  assert.deepEqual(previewed.at(-1), ["/d/a", "a", "1 null"]);
  await browser.go("#path=/d&open=..", "/home");
  assert.equal(previewed.at(-1), "closed");
});

test("a search shows what is found below, and without a text the folder", async () => {
  await browser.search("A");
  assert.deepEqual([names(), said()], [["deep/a"], "1 found below /d"]);
  await browser.search(" ");
  assert.deepEqual(names(), ["sub", "a"]);
});

test("a folder is made by its name, and nothing by none", async () => {
  await browser.create();
  answer = { value: "new" };
  await browser.create();
  assert.deepEqual([changes(), told], [[["mkdir", { path: "/d/new", parents: false, exist_ok: false }]], ["“new” is made."]]);
});

test("an entry is renamed beside itself, and deleted after a question", async () => {
  answer = { value: "c" };
  await choose("a", 2);
  assert.deepEqual(changes(), [["move", { path: "/d/a", destination: "/d/c" }]]);
  answer = undefined;
  await choose("sub", 2);
  assert.equal(changes().length, 1);
  answer = { answer: "delete" };
  await choose("sub", 2);
  assert.deepEqual(changes().at(-1), ["delete", { path: "/d/sub", recursive: true }]);
});

test("a folder that is gone is told and shows nothing", async () => {
  files = Response.json({ success: false, message: "no", data: { error_type: "not_found" } });
  await browser.refresh();
  assert.deepEqual([names(), said()], [[], "That did not work. It is not there any more."]);
});

test("a sandbox that does not answer leaves what was listed", async () => {
  globals({ fetch: async () => Promise.reject(new TypeError("lost")) });
  await browser.refresh();
  assert.deepEqual([names(), said()], [["sub", "a"], "That did not work. The sandbox does not answer."]);
});

test("of a folder with more entries than one answer has, the next are got", async () => {
  globals({ fetch: async (_, { body: sent }) => Response.json({ success: true, data: { files: JSON.parse(sent).offset ? [entry("z")] : [entry("a")], total_count: 2 } }) });
  await browser.refresh();
  assert.equal(shown.listing.querySelector("button").textContent, "Show more (1 left)");
  shown.listing.querySelector("button").click();
  await settled();
  assert.deepEqual(names(), ["a", "z"]);
});
