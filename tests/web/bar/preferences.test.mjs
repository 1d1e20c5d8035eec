// The buttons that choose the language and the theme.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";

openDocument();
const kept = new Map();
let reloads = 0;
globals({ localStorage: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) } });
Object.assign(location, { reload: () => reloads++ });
const { showPreferences } = await import("/static/bar/preferences.js");

/** @type {any} */
let language;
/** @type {any} */
let theme;

beforeEach(() => {
  delete document.documentElement.dataset.theme;
  const place = /** @type {any} */ (document.createElement("div"));
  showPreferences(place);
  [language, theme] = place.children;
});

test("the language is called by its own name, and choosing it shows the page anew", () => {
  assert.deepEqual([language.textContent, language.lang], ["中文", "zh"]);
  language.click();
  assert.deepEqual([kept.get("language"), reloads], ["zh", 1]);
});

test("the theme goes from the system's to light to dark and around, at once and for all pages", () => {
  const said = () => [theme.getAttribute("aria-label"), document.documentElement.dataset.theme];
  assert.equal(said()[0], "Theme: as the system");
  const seen = [1, 2, 3].map(() => (theme.click(), [...said(), kept.get("theme")]));
  assert.deepEqual(seen, [["Theme: light", "light", "light"], ["Theme: dark", "dark", "dark"], ["Theme: as the system", "auto", "auto"]]);
});

test("a theme that was chosen on another page holds here, too", () => {
  dispatchEvent(Object.assign(new Event("storage"), { key: "theme", newValue: "dark" }));
  assert.equal(document.documentElement.dataset.theme, "dark");
  dispatchEvent(Object.assign(new Event("storage"), { key: "panes", newValue: "x" }));
  assert.equal(document.documentElement.dataset.theme, "dark");
});
