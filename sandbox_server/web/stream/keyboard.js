// The keyboard: key presses, composed text and pastes over the desktop, as messages.

import { getKeysym } from "/static/vendor/novnc/core/input/util.js";
import keysyms from "/static/vendor/novnc/core/input/keysymdef.js";
import { readPasted } from "./clipboard.js";
import { encode } from "./wire.js";

/** A browser that pastes fires its event within this time of the key. */
const PASTE_MS = 300;
/** The content of the field, which gives a phone's keyboard something to delete. */
const FILLER = "\u00a0\u00a0";
const [CONTROL, BACKSPACE, DELETE, RETURN] = [0xffe3, 0xff08, 0xffff, 0xff0d];
const MODIFIERS = new Set(["Shift", "AltGraph", "CapsLock"]);
const MAC = /^(Mac|iP)/.test(navigator.platform);
/** @type {Record<string, number>} edits that a phone's keyboard makes without keys */
const EDITS = {
  deleteContentBackward: BACKSPACE,
  deleteWordBackward: BACKSPACE,
  deleteContentForward: DELETE,
  insertLineBreak: RETURN,
  insertParagraph: RETURN,
};

export class Keyboard {
  /** @type {Map<string, number>} keysym by physical key */
  #held = new Map();
  #order = Promise.resolve();
  /** Whether a dead key was pressed last. The browser then reports the accented letter as text. */
  #dead = false;
  /** @type {((forms: Record<string, Uint8Array>) => void) | undefined} */
  #pasted;

  /**
   * @param {HTMLTextAreaElement} field that takes the keys, so that input methods work
   * @param {(message: ArrayBuffer) => void} send
   */
  constructor(field, send) {
    this.field = field;
    this.send = send;
    this.#empty();
  }

  /** The events that it listens to, each with its listener and target. @returns {[string, (event: any) => void, EventTarget][]} */
  get listeners() {
    return [
      ["keydown", (event) => this.#key(event, true), this.field],
      ["keyup", (event) => this.#key(event, false), this.field],
      ["compositionend", (event) => this.#composed(event), this.field],
      ["input", (event) => this.#typed(event), this.field],
      ["paste", (event) => this.#paste(event), this.field],
      ["blur", () => this.release(), this.field],
    ];
  }

  /** Release every key that is held. */
  release() {
    const held = [...this.#held.values()];
    this.#held.clear();
    if (held.length) this.#after(() => held.forEach((keysym) => this.send(encode.key(keysym, false))));
  }

  /** @param {() => void} act run once everything before it is sent */
  #after(act) {
    this.#order = this.#order.then(act);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {boolean} down
   */
  #key(event, down) {
    if (event.isComposing || event.key === "Process" || event.key === "Dead" || event.key === "Unidentified") {
      if (down) this.#dead = event.key === "Dead";
      return;
    }
    if (down && this.#endsDead(event)) return;
    const keysym = down ? keysymOf(event) : this.#held.get(event.code);
    if (!keysym) return;
    const pastes = down && event.key.toLowerCase() === "v" && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (pastes) this.#awaitPaste();
    else event.preventDefault();
    if (down && (event.repeat || this.#held.has(event.code))) return; // the desktop repeats keys itself
    if (down) this.#held.set(event.code, keysym);
    else this.#held.delete(event.code);
    this.#after(() => this.send(encode.key(keysym, down)));
    // macOS fires no keyup while Command is down.
    if (down && MAC && event.metaKey && event.key !== "Meta") this.#releaseKey(event.code);
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether it is the letter after a dead key, which Firefox reports without its accent */
  #endsDead({ key, ctrlKey, altKey, metaKey }) {
    if (!this.#dead || MODIFIERS.has(key)) return false;
    this.#dead = false;
    return [...key].length === 1 && !ctrlKey && !altKey && !metaKey;
  }

  /** @param {string} code */
  #releaseKey(code) {
    const keysym = this.#held.get(code);
    this.#held.delete(code);
    if (keysym) this.#after(() => this.send(encode.key(keysym, false)));
  }

  /** Send the clipboard before the key that pastes it: the browser fires `paste` only after the key's event. */
  #awaitPaste() {
    const read = new Promise((done) => {
      this.#pasted = done;
      setTimeout(() => done({}), PASTE_MS);
    });
    this.#order = this.#order.then(() => read).then((forms) => this.#share(forms));
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    event.preventDefault();
    const forms = readPasted(event.clipboardData);
    const pasted = this.#pasted;
    this.#pasted = undefined;
    if (pasted) forms.then(pasted, () => pasted({}));
    else this.#order = this.#order.then(() => forms).then((found) => this.#share(found)); // from a menu
  }

  /** @param {Record<string, Uint8Array>} forms */
  #share(forms) {
    if (Object.keys(forms).length) this.send(encode.clip(forms));
  }

  /** @param {CompositionEvent} event the text of an input method, or of a dead key and a letter */
  #composed(event) {
    if (event.data) this.#after(() => this.send(encode.text(event.data)));
    this.#empty();
  }

  /** @param {InputEvent} event text without keys, from a phone's keyboard */
  #typed(event) {
    if (event.isComposing || event.inputType === "insertCompositionText") return;
    const edit = EDITS[event.inputType];
    if (edit) this.#tap(edit);
    else if (event.data) for (const character of event.data) this.#tap(keysyms.lookup(character.codePointAt(0) ?? 0));
    this.#empty();
  }

  /** @param {number} keysym */
  #tap(keysym) {
    this.#after(() => {
      this.send(encode.key(keysym, true));
      this.send(encode.key(keysym, false));
    });
  }

  #empty() {
    this.field.value = FILLER;
    this.field.setSelectionRange(FILLER.length, FILLER.length);
  }
}

/** @param {KeyboardEvent} event @returns {number} on a Mac, Command is sent as Control */
function keysymOf(event) {
  return MAC && event.key === "Meta" ? CONTROL : (getKeysym(event) ?? 0);
}
