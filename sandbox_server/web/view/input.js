// What a person does with mouse, wheel, touch and keyboard over the desktop, as messages.

import { getKeysym } from "/static/vendor/novnc/core/input/util.js";
import keysyms from "/static/vendor/novnc/core/input/keysymdef.js";
import { say } from "./wire.js";

const LINE_PIXELS = 100 / 3;
const PAGE_PIXELS = 600;
const MOST = 32767;
const PASTE_MS = 2000;
/** Of the browser's `buttons` to the stream's: the browser has right before middle. */
const BUTTONS = [1, 4, 2, 8, 16];

export class Input {
  /** @type {Map<string, number>} keysym by physical key */
  #held = new Map();
  #moved = false;
  #shared = "";
  #order = Promise.resolve();
  /** @type {PointerEvent | undefined} */
  #latest;

  /**
   * @param {HTMLElement} surface what takes the pointer, as large as the picture is shown
   * @param {HTMLTextAreaElement} field what takes the keys, so that input methods work
   * @param {() => {width: number, height: number}} size of the desktop's screen in pixels
   * @param {(message: ArrayBuffer) => void} send
   */
  constructor(surface, field, size, send) {
    this.surface = surface;
    this.field = field;
    this.size = size;
    this.send = send;
    this.enabled = false;
    this.#listen();
  }

  /** Let go of everything that is held. */
  release() {
    for (const keysym of this.#held.values()) this.send(say.key(keysym, false));
    this.#held.clear();
  }

  #listen() {
    /** @type {[string, (event: any) => void, EventTarget][]} */
    const heard = [
      ["pointermove", (event) => this.#move(event), this.surface],
      ["pointerdown", (event) => this.#press(event), this.surface],
      ["pointerup", (event) => this.#press(event), this.surface],
      ["pointercancel", (event) => this.#press(event), this.surface],
      ["contextmenu", (event) => event.preventDefault(), this.surface],
      ["wheel", (event) => this.#wheel(event), this.surface],
      ["keydown", (event) => this.#key(event, true), this.field],
      ["keyup", (event) => this.#key(event, false), this.field],
      ["compositionend", (event) => this.#composed(event), this.field],
      ["input", (event) => this.#typed(event), this.field],
      ["blur", () => this.release(), this.field],
    ];
    for (const [name, listener, target] of heard) {
      target.addEventListener(name, (event) => this.enabled && listener(event), { passive: false });
    }
  }

  /** @param {PointerEvent} event one message for each picture of the browser's, with the latest place */
  #move(event) {
    this.#latest = event;
    if (this.#moved) return;
    this.#moved = true;
    requestAnimationFrame(() => {
      this.#moved = false;
      if (this.#latest) this.#point(this.#latest);
    });
  }

  /** @param {PointerEvent} event */
  #press(event) {
    event.preventDefault();
    this.#latest = undefined;
    if (event.type === "pointerdown") {
      this.surface.setPointerCapture(event.pointerId);
      this.field.focus({ preventScroll: true });
    }
    this.#point(event);
  }

  /** @param {PointerEvent} event */
  #point({ clientX, clientY, buttons }) {
    const box = this.surface.getBoundingClientRect();
    const { width, height } = this.size();
    const x = clamped(((clientX - box.left) / box.width) * width, width);
    const y = clamped(((clientY - box.top) / box.height) * height, height);
    this.send(say.point(x, y, BUTTONS.reduce((held, bit, index) => held | (buttons & (1 << index) ? bit : 0), 0)));
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const unit = [1, LINE_PIXELS, PAGE_PIXELS][event.deltaMode];
    const [dx, dy] = [event.deltaX, event.deltaY].map((delta) => Math.max(-MOST, Math.min(MOST, Math.round(delta * unit))));
    if (dx || dy) this.send(say.wheel(dx, dy));
  }

  /**
   * @param {KeyboardEvent} event
   * @param {boolean} down
   */
  #key(event, down) {
    if (event.isComposing || event.key === "Process" || event.key === "Dead") return;
    const keysym = down ? getKeysym(event) : this.#held.get(event.code);
    if (!keysym) return;
    event.preventDefault();
    if (down && this.#held.has(event.code)) return; // the desktop repeats keys itself
    if (down) this.#held.set(event.code, keysym);
    else this.#held.delete(event.code);
    if (down && event.key.toLowerCase() === "v" && (event.ctrlKey || event.metaKey)) this.#share();
    this.#order = this.#order.then(() => this.send(say.key(keysym, down)));
  }

  /** What is to be pasted is on this computer's clipboard: it comes before the keys that paste it, where the browser gives it. */
  #share() {
    const read = navigator.clipboard?.readText?.().catch(() => "") ?? Promise.resolve("");
    const patience = new Promise((done) => setTimeout(() => done(""), PASTE_MS));
    this.#order = this.#order
      .then(() => Promise.race([read, patience]))
      .then((text) => {
        if (text && text !== this.#shared) this.send(say.copied(text));
        this.#shared = text || this.#shared;
      });
  }

  /** @param {CompositionEvent} event */
  #composed(event) {
    if (event.data) this.send(say.text(event.data));
    this.field.value = "";
  }

  /** @param {InputEvent} event text that came without keys, from a phone's keyboard */
  #typed(event) {
    if (event.isComposing || event.inputType === "insertCompositionText") return;
    if (event.data) for (const character of event.data) this.#tap(keysyms.lookup(character.codePointAt(0) ?? 0));
    this.field.value = "";
  }

  /** @param {number} keysym */
  #tap(keysym) {
    this.send(say.key(keysym, true));
    this.send(say.key(keysym, false));
  }
}

/**
 * @param {number} value
 * @param {number} size
 */
function clamped(value, size) {
  return Math.max(0, Math.min(size - 1, Math.floor(value)));
}
