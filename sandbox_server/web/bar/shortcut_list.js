// The list of a page's shortcuts, as a dialog.

import { translate } from "./strings.js";

/**
 * @typedef {{keys: string, says: Parameters<typeof translate>[0]}} Shortcut
 * @typedef {{page: string, signedIn: boolean, screen: boolean}} Place `page`: its name; `signedIn`: whether somebody is; `screen`: whether it shows the screen
 */

/** On every page. @type {Shortcut[]} */
const EVERYWHERE = [
  { keys: "?", says: "keysList" },
  { keys: "Esc", says: "keysClose" },
];
/** Where somebody is signed in. @type {Shortcut[]} */
const SIGNED_IN = [
  { keys: "Ctrl+Alt+Enter", says: "keysTake" },
  { keys: "Ctrl+Alt+Backspace", says: "keysLeave" },
  { keys: "Ctrl+Alt+A", says: "keysAsked" },
];
/** Where the page shows the screen. @type {Shortcut[]} */
const SCREEN = [
  { keys: "Enter", says: "keysEnter" },
  { keys: "Ctrl+Alt+P", says: "keysPrivate" },
];
/** By the page's name. @type {Record<string, Shortcut[]>} */
const OF_PAGES = {
  api: [{ keys: "/", says: "keysSearch" }],
  recorder: [{ keys: "↑ ↓", says: "keysEntries" }],
};

/** @param {Place} place */
export function shortcutsOf({ page, signedIn, screen }) {
  return [...EVERYWHERE, ...(screen ? SCREEN.slice(0, 1) : []), ...(signedIn ? SIGNED_IN : []), ...(screen ? SCREEN.slice(1) : []), ...(OF_PAGES[page] ?? [])];
}

/** @param {Place} place */
export function shortcutList(place) {
  const dialog = Object.assign(document.createElement("dialog"), { id: "shortcuts", className: "card" });
  dialog.setAttribute("aria-labelledby", "shortcuts-title");
  const title = Object.assign(document.createElement("h2"), { id: "shortcuts-title", textContent: translate("keys") });
  const list = document.createElement("dl");
  for (const { keys, says } of shortcutsOf(place)) {
    const term = document.createElement("dt");
    const key = Object.assign(document.createElement("kbd"), { textContent: keys });
    term.append(key);
    list.append(term, Object.assign(document.createElement("dd"), { textContent: translate(says) }));
  }
  const close = Object.assign(document.createElement("button"), { type: "button", className: "button quiet", textContent: translate("keysCloseButton") });
  close.onclick = () => dialog.close();
  dialog.append(title, list, close);
  return dialog;
}
