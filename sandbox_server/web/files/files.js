// The files page: what the agent and the person have on the disk. Both see the same files.

import { call } from "/static/api.js";
import { fill } from "/static/strings.js";
import { FileBrowser } from "./file_browser.js";
import { Preview } from "./preview.js";
import { hrefOf, placeOf } from "./paths.js";
import { Question } from "./question.js";
import { translate } from "./strings.js";
import { Uploads } from "./uploads.js";

const FALLBACK = "/home";
const TYPING_MS = 300;

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

document.title = `${translate("title")} · Tandem`;
fill(document, translate);

const notify = (/** @type {string} */ text) => /** @type {import("../bar/bar.js").TandemBar} */ (find("tandem-bar")).notify(text);
const question = new Question(find("#question"));
const preview = new Preview({
  place: find("#preview"),
  title: find("#preview-title"),
  note: find("#preview-note"),
  content: find("#preview-content"),
  download: find("#preview-download"),
});
const parts = { listing: find("#listing"), path: find("#path"), state: find("#state"), menu: find("#menu") };
const browser = new FileBrowser(parts, { preview, question, notify });
const uploads = new Uploads(find("#uploads"), question, (folder) => folder === browser.folder && browser.refresh());
/** @type {HTMLInputElement} */
const chosen = find("#chosen");
/** @type {HTMLInputElement} */
const text = find("#text");
/** @type {HTMLInputElement} */
const hidden = find("#hidden");
const main = find("main");
let typed = 0;
let start = FALLBACK;

async function go() {
  if (placeOf(location.hash).folder !== browser.folder) text.value = "";
  const was = preview.path;
  await browser.go(location.hash, start);
  if (preview.path && preview.path !== was) find("#preview-title").focus();
}

/** @param {DragEvent} event */
function hover(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
  main.dataset.drop = translate("drop");
}

/** @param {DragEvent} event */
function drop(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  main.removeAttribute("data-drop");
  const items = [...event.dataTransfer.items].filter(({ kind }) => kind === "file");
  const folders = items.map((item) => item.webkitGetAsEntry()).filter((entry) => entry?.isDirectory).map((entry) => entry?.name ?? "");
  uploads.refuse(folders);
  uploads.add([...event.dataTransfer.files].filter(({ name }) => !folders.includes(name)), browser.folder);
}

find("#upload").onclick = () => chosen.click();
chosen.onchange = () => {
  uploads.add([...(chosen.files ?? [])], browser.folder);
  chosen.value = "";
};
find("#create").onclick = () => browser.create();
find("#search").onsubmit = (event) => {
  event.preventDefault();
  clearTimeout(typed);
  browser.search(text.value);
};
text.oninput = () => {
  clearTimeout(typed);
  typed = setTimeout(() => browser.search(text.value), TYPING_MS);
};
hidden.onchange = () => browser.showHidden(hidden.checked);
find("#preview-close").onclick = () => (location.hash = hrefOf(browser.folder));
main.addEventListener("dragover", hover);
main.addEventListener("dragleave", () => main.removeAttribute("data-drop"));
main.addEventListener("drop", drop);
addEventListener("hashchange", go);

const sandbox = await call("GET", "/v1/sandbox", { whole: true }).catch(() => undefined);
start = sandbox?.workspace ?? sandbox?.home_dir ?? FALLBACK;
await go();
browser.follow();
