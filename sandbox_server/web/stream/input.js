// Mouse, pen and wheel over the desktop, as messages. Touch and keyboard have modules of their own.

import { Keyboard } from "./keyboard.js";
import { TouchGestures } from "./touch_gestures.js";
import { encode } from "./wire.js";

const LINE_PIXELS = 100 / 3;
const PAGE_PIXELS = 600;
const MOST = 32767;
/** From the bits of the browser's `buttons` to the protocol's: the browser has right before middle. */
const BUTTONS = [1, 4, 2, 8, 16];

export class Input {
  #moved = false;
  /** @type {PointerEvent | undefined} */
  #latest;
  #place = { x: 0, y: 0 };
  #pressed = 0;

  /**
   * @param {HTMLElement} surface that takes the pointer, as large as the picture is shown
   * @param {HTMLTextAreaElement} field that takes the keys, so that input methods work
   * @param {() => {width: number, height: number}} size of the desktop's screen in pixels
   * @param {(message: ArrayBuffer) => void} send
   */
  constructor(surface, field, size, send) {
    this.surface = surface;
    this.field = field;
    this.size = size;
    this.send = send;
    this.enabled = false;
    /** Called when the person moves the pointer. */
    this.moved = () => {};
    this.keyboard = new Keyboard(field, send);
    this.touch = new TouchGestures({
      place: () => this.#pagePlace(),
      point: ({ x, y }, buttons) => this.#point(x, y, buttons),
      wheel: (dx, dy) => this.#scroll(dx, dy),
    });
    this.#listen();
  }

  /** Release every button and key that is held. */
  release() {
    this.touch.cancel();
    this.keyboard.release();
    if (this.#pressed) this.#send(0);
  }

  /** Where the pointer is on the desktop's screen. */
  get place() {
    return this.#place;
  }

  /** @param {{x: number, y: number}} place where somebody else has moved it */
  set place(place) {
    this.#place = place;
  }

  #listen() {
    /** @type {[string, (event: any) => void, EventTarget][]} */
    const listeners = [
      ["pointermove", (event) => this.#move(event), this.surface],
      ["pointerdown", (event) => this.#press(event), this.surface],
      ["pointerup", (event) => this.#press(event), this.surface],
      ["pointercancel", (event) => this.#press(event), this.surface],
      ["contextmenu", (event) => event.preventDefault(), this.surface],
      ["wheel", (event) => this.#wheel(event), this.surface],
      ["touchstart", (event) => this.touch.start(event), this.surface],
      ["touchmove", (event) => this.touch.move(event), this.surface],
      ["touchend", (event) => this.touch.end(event), this.surface],
      ["touchcancel", () => this.touch.cancel(), this.surface],
      ...this.keyboard.listeners,
    ];
    for (const [name, listener, target] of listeners) {
      target.addEventListener(name, (event) => this.enabled && listener(event), { passive: false });
    }
  }

  /** @param {PointerEvent} event of which the latest is sent once a frame */
  #move(event) {
    if (event.pointerType === "touch") return;
    this.#latest = event;
    if (this.#moved) return;
    this.#moved = true;
    requestAnimationFrame(() => {
      this.#moved = false;
      if (this.#latest && this.enabled) this.#follow(this.#latest);
    });
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.pointerType === "touch") return;
    event.preventDefault();
    this.#latest = undefined;
    if (event.type === "pointerdown") {
      this.surface.setPointerCapture(event.pointerId);
      this.field.focus({ preventScroll: true });
    }
    this.#follow(event);
  }

  /** @param {PointerEvent} event */
  #follow({ clientX, clientY, buttons }) {
    this.#point(clientX, clientY, BUTTONS.reduce((held, bit, index) => held | (buttons & (1 << index) ? bit : 0), 0));
  }

  /**
   * @param {number} clientX
   * @param {number} clientY
   * @param {number} buttons
   */
  #point(clientX, clientY, buttons) {
    const box = this.surface.getBoundingClientRect();
    const { width, height } = this.size();
    this.#place = {
      x: clamped(((clientX - box.left) / box.width) * width, width),
      y: clamped(((clientY - box.top) / box.height) * height, height),
    };
    this.#send(buttons);
  }

  /** @param {number} buttons */
  #send(buttons) {
    this.#pressed = buttons;
    this.moved();
    this.send(encode.point(this.#place.x, this.#place.y, buttons));
  }

  /** Where the pointer is on the page. */
  #pagePlace() {
    const box = this.surface.getBoundingClientRect();
    const { width, height } = this.size();
    return { x: box.left + ((this.#place.x + 0.5) / width) * box.width, y: box.top + ((this.#place.y + 0.5) / height) * box.height };
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    event.preventDefault();
    const unit = [1, LINE_PIXELS, PAGE_PIXELS][event.deltaMode];
    this.#sendWheel(event.deltaX * unit, event.deltaY * unit);
  }

  /** Scroll by as much as the fingers moved. @param {number} dx @param {number} dy in pixels of the page */
  #scroll(dx, dy) {
    const larger = this.size().width / this.surface.getBoundingClientRect().width;
    this.#sendWheel(dx * larger, dy * larger);
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  #sendWheel(dx, dy) {
    const [right, down] = [dx, dy].map((delta) => Math.max(-MOST, Math.min(MOST, Math.round(delta))));
    if (right || down) this.send(encode.wheel(right, down));
  }
}

/**
 * @param {number} value
 * @param {number} size
 */
function clamped(value, size) {
  return Math.max(0, Math.min(size - 1, Math.floor(value)));
}
