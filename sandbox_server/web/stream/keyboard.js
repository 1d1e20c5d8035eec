// What a person types and pastes over the desktop, as messages.

import { getKeysym } from "/static/vendor/novnc/core/input/util.js";
import keysyms from "/static/vendor/novnc/core/input/keysymdef.js";
import { readable } from "./clipboard.js";
import { say } from "./wire.js";

/** A browser that pastes says so right after the key; one that does not will not. */
const PASTE_MS = 300;
/** What the field holds, so that a phone's keyboard has something to take away. */
const FILLER = "\u00a0\u00a0";
const [CONTROL, BACKSPACE, DELETE, RETURN] = [0xffe3, 0xff08, 0xffff, 0xff0d];
const MODIFIERS = new Set(["Shift", "AltGraph", "CapsLock"]);
const MAC = /^(Mac|iP)/.test(navigator.platform);
/** @type {Record<string, number>} what a phone's keyboard does without keys */
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
  /** Whether a dead key was pressed last: what it makes of the next one, the browser tells as a text. */
  #dead = false;
  /** @type {((forms: Record<string, Uint8Array>) => void) | undefined} */
  #pasted;

  /**
   * @param {HTMLTextAreaElement} field what takes the keys, so that input methods work
   * @param {(message: ArrayBuffer) => void} send
   */
  constructor(field, send) {
    this.field = field;
    this.send = send;
    this.#empty();
  }

  /** What it listens to, each with its name. @returns {[string, (event: any) => void, EventTarget][]} */
  get heard() {
    return [
      ["keydown", (event) => this.#key(event, true), this.field],
      ["keyup", (event) => this.#key(event, false), this.field],
      ["compositionend", (event) => this.#composed(event), this.field],
      ["input", (event) => this.#typed(event), this.field],
      ["paste", (event) => this.#paste(event), this.field],
      ["blur", () => this.release(), this.field],
    ];
  }

  /** Let go of every key that is held. */
  release() {
    const held = [...this.#held.values()];
    this.#held.clear();
    if (held.length) this.#after(() => held.forEach((keysym) => this.send(say.key(keysym, false))));
  }

  /** @param {() => void} act once everything before it is sent */
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
    if (down && this.#held.has(event.code)) return; // the desktop repeats keys itself
    if (down) this.#held.set(event.code, keysym);
    else this.#held.delete(event.code);
    this.#after(() => this.send(say.key(keysym, down)));
    // On a Mac nothing tells that a key goes up while Command is down.
    if (down && MAC && event.metaKey && event.key !== "Meta") this.#lift(event.code);
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether it is the letter after a dead key, which Firefox tells without its accent */
  #endsDead({ key, ctrlKey, altKey, metaKey }) {
    if (!this.#dead || MODIFIERS.has(key)) return false;
    this.#dead = false;
    return [...key].length === 1 && !ctrlKey && !altKey && !metaKey;
  }

  /** @param {string} code */
  #lift(code) {
    const keysym = this.#held.get(code);
    this.#held.delete(code);
    if (keysym) this.#after(() => this.send(say.key(keysym, false)));
  }

  /** What is to be pasted comes before the key that pastes it: the browser tells of it once the key has done what it does. */
  #awaitPaste() {
    const told = new Promise((done) => {
      this.#pasted = done;
      setTimeout(() => done({}), PASTE_MS);
    });
    this.#order = this.#order.then(() => told).then((forms) => this.#share(forms));
  }

  /** @param {ClipboardEvent} event */
  #paste(event) {
    event.preventDefault();
    const forms = readable(event.clipboardData);
    const pasted = this.#pasted;
    this.#pasted = undefined;
    if (pasted) forms.then(pasted, () => pasted({}));
    else this.#order = this.#order.then(() => forms).then((found) => this.#share(found)); // by a menu
  }

  /** @param {Record<string, Uint8Array>} forms */
  #share(forms) {
    if (Object.keys(forms).length) this.send(say.clip(forms));
  }

  /** @param {CompositionEvent} event what an input method made, or a dead key and a letter */
  #composed(event) {
    if (event.data) this.#after(() => this.send(say.text(event.data)));
    this.#empty();
  }

  /** @param {InputEvent} event text that came without keys, from a phone's keyboard */
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
      this.send(say.key(keysym, true));
      this.send(say.key(keysym, false));
    });
  }

  #empty() {
    this.field.value = FILLER;
    this.field.setSelectionRange(FILLER.length, FILLER.length);
  }
}

/** @param {KeyboardEvent} event @returns {number} on a Mac, Command is what Control is on the desktop */
function keysymOf(event) {
  return MAC && event.key === "Meta" ? CONTROL : (getKeysym(event) ?? 0);
}
