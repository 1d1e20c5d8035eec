// The keyboard's shortcuts of every page, and the list of them, which `?` opens.

import { translate } from "./strings.js";

/**
 * @typedef {Parameters<typeof translate>[0]} Key
 * @typedef {{keys: string, says: Key}} Shortcut
 * @typedef {object} Bar what the shortcuts act on; a page where nobody is signed in has nothing
 * @property {() => void} take take control, or hand it back
 * @property {() => void} leave move the focus out of what takes the keys
 * @property {() => void} hide begin private mode, or end it
 * @property {() => void} asked move the focus to what waits for an answer
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
const TYPES_IN = ["INPUT", "TEXTAREA", "SELECT", "CANVAS", "IFRAME"];

/**
 * @param {string} page its name
 * @param {{signedIn: boolean, screen: boolean}} has
 */
export function shortcutsOf(page, { signedIn, screen }) {
  return [...EVERYWHERE, ...(screen ? SCREEN.slice(0, 1) : []), ...(signedIn ? SIGNED_IN : []), ...(screen ? SCREEN.slice(1) : []), ...(OF_PAGES[page] ?? [])];
}

export class Shortcuts {
  /** @type {HTMLDialogElement | undefined} */
  #dialog;

  /**
   * @param {Shortcut[]} list
   * @param {Bar} [bar]
   */
  constructor(list, bar) {
    this.list = list;
    this.bar = bar;
  }

  /** Act from now on. */
  listen() {
    addEventListener("keydown", this.#press, { capture: true });
  }

  /** Act no more. */
  close() {
    removeEventListener("keydown", this.#press, { capture: true });
  }

  /** Open the list, or close it. */
  toggle() {
    const dialog = (this.#dialog ??= listOf(this.list));
    if (!dialog.isConnected) document.body.append(dialog);
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  /** The button that opens the list, for who has not heard of the key. */
  button() {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet", textContent: "?" });
    button.dataset.chooses = "shortcuts";
    button.title = translate("keys");
    button.setAttribute("aria-label", button.title);
    button.onclick = () => this.toggle();
    return button;
  }

  #press = (/** @type {KeyboardEvent} */ event) => {
    const act = this.#actOf(event);
    if (!act) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    act();
  };

  /** @param {KeyboardEvent} event @returns {(() => void) | undefined} */
  #actOf(event) {
    if (event.key === "?" && !event.ctrlKey && !event.altKey && !event.metaKey && !takesText(event)) return () => this.toggle();
    if (!event.ctrlKey || !event.altKey || !this.bar) return undefined;
    const { take, leave, hide, asked } = this.bar;
    const acts = /** @type {Record<string, () => void>} */ ({ Enter: take, Backspace: leave, p: hide, a: asked });
    return acts[event.key];
  }
}

/** Whether a key is typed into something. @param {KeyboardEvent} event */
function takesText(event) {
  const at = /** @type {HTMLElement} */ (event.composedPath()[0]);
  return TYPES_IN.includes(at.tagName) || at.isContentEditable;
}

/** @param {Shortcut[]} shortcuts */
function listOf(shortcuts) {
  const dialog = Object.assign(document.createElement("dialog"), { id: "shortcuts", className: "card" });
  dialog.setAttribute("aria-labelledby", "shortcuts-title");
  const title = Object.assign(document.createElement("h2"), { id: "shortcuts-title", textContent: translate("keys") });
  const list = document.createElement("dl");
  for (const { keys, says } of shortcuts) {
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
