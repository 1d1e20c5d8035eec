// The keyboard's shortcuts of every page. `?` opens the list of them.

import { translate } from "./strings.js";

/**
 * @typedef {object} Bar what the shortcuts act on; a page where nobody is signed in has nothing
 * @property {() => void} take take control, or hand it back
 * @property {() => void} leave move the focus out of what takes the keys
 * @property {() => void} hide begin private mode, or end it
 * @property {() => void} asked move the focus to what waits for an answer
 */

const TYPES_IN = ["INPUT", "TEXTAREA", "SELECT", "CANVAS", "IFRAME"];

export class Shortcuts {
  /** @type {Promise<HTMLDialogElement> | undefined} */
  #dialog;

  /**
   * @param {import("./shortcut_list.js").Place} place
   * @param {Bar} [bar]
   */
  constructor(place, bar) {
    this.place = place;
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
  async toggle() {
    const dialog = await (this.#dialog ??= import("./shortcut_list.js").then(({ shortcutList }) => shortcutList(this.place)));
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
