// The panes: opened in place, remembered for the next visit and for a reload.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

const body = openDocument();
const { Panes } = await import("/static/home/panes.js");

/** A storage of the browser's. */
function storage() {
  const kept = new Map();
  return { kept, getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
}

/** @type {any} */
let grid;
/** @type {any} */
let panes;

beforeEach(() => {
  globals({ localStorage: storage(), sessionStorage: storage() });
  grid = document.createElement("div");
  grid.innerHTML = ["browser", "terminal", "editor", "notebook"].map((name) => `<article data-pane="${name}"><header><h3>${name}</h3><span class="state"></span></header></article>`).join("");
  body.replaceChildren(grid);
  panes = new Panes([...grid.children]).byName;
});

/** @param {string} name @param {string} text */
const press = (name, text) => panes[name].card.querySelectorAll("button").find((button) => button.textContent === text).click();

test("a pane is opened, enlarged and closed", () => {
  press("terminal", "Show here");
  const frame = panes.terminal.card.querySelector("iframe");
  assert.deepEqual([frame.src, frame.title, panes.terminal.isOpen], ["/terminal", "terminal", true]);
  press("terminal", "Enlarge");
  assert.deepEqual([panes.terminal.isLarge, panes.terminal.large.textContent], [true, "Shrink"]);
  press("terminal", "Close");
  assert.deepEqual([panes.terminal.isOpen, panes.terminal.isLarge, panes.terminal.card.querySelector("iframe")], [false, false, null]);
});

test("what is open is open again at the next visit, and the page is told", () => {
  press("browser", "Show here");
  press("browser", "Enlarge");
  let told = 0;
  const next = new Panes([...grid.children], () => told++);
  grid.querySelectorAll("iframe").forEach((frame) => frame.remove());
  next.restore();
  assert.deepEqual([next.byName.browser.isOpen, next.byName.browser.isLarge, next.byName.terminal.isOpen], [true, true, false]);
  assert.equal(told, 1);
});

test("what was remembered badly is forgotten", () => {
  localStorage.setItem("panes", "{not json");
  const next = new Panes([...grid.children]);
  next.restore();
  assert.equal(next.byName.browser.isOpen, false);
});

test("the agent's editors are never framed: they open on a page of their own", () => {
  panes.editor.open();
  assert.equal(panes.editor.isOpen, false);
  assert.deepEqual([panes.editor.here.hidden, panes.editor.alone.href], [true, "/code-server/"]);
});

test("what is not there says so and cannot be opened", () => {
  panes.terminal.allow(false, "No access");
  panes.terminal.open();
  assert.deepEqual([panes.terminal.isOpen, panes.terminal.state.textContent, panes.terminal.here.hidden, panes.terminal.alone.hidden], [false, "No access", true, true]);
  panes.terminal.allow(true);
  panes.terminal.open();
  assert.equal(panes.terminal.isOpen, true);
});

test("a reload of the tab opens the terminal's session again, and another page's address is not taken", () => {
  press("terminal", "Show here");
  panes.terminal.frame.contentWindow = { location: { pathname: "/terminal", search: "?session_id=7" } };
  dispatchEvent(new Event("pagehide"));
  press("terminal", "Close");
  press("terminal", "Show here");
  assert.equal(panes.terminal.frame.src, "/terminal?session_id=7");
  sessionStorage.setItem("panes.terminal", "https://elsewhere.test/");
  press("terminal", "Close");
  press("terminal", "Show here");
  assert.equal(panes.terminal.frame.src, "/terminal");
});

test("the desktop is the live page, in its pane and on its own", () => {
  panes.browser.open();
  assert.deepEqual([panes.browser.alone.href, panes.browser.frame.src], ["/view", "/view"]);
});
