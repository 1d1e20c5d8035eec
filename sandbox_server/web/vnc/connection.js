// The desktop over VNC: one RFB connection, which reconnects when it is lost.

import { ApiError, call } from "/static/api.js";
import keysyms from "/static/vendor/novnc/core/input/keysymdef.js";
import RFB from "/static/vendor/novnc/core/rfb.js";

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
const SHARP = 8;
const SHIFT = 0xffe1;
/** @type {Record<string, number>} */
const NAMED = { "\n": 0xff0d, "\t": 0xff09 };

/**
 * @typedef {object} Listener
 * @property {(state: "connecting" | "connected" | "lost" | "refused", reason?: string) => void} state
 * @property {(control: boolean) => void} control whether this viewer's mouse and keyboard count
 * @property {(text: string) => void} copied text that was copied on the desktop
 */

export class VncConnection {
  /** @type {InstanceType<typeof RFB> | undefined} */
  #rfb;
  #delay = FIRST_DELAY_MS;
  #timer = 0;
  #scaled = true;

  /**
   * @param {HTMLElement} screen
   * @param {{address: URL, watch: boolean, quiet?: boolean}} options `address`: of the WebSocket; `watch`: view only, even if control is allowed;
   *   `quiet`: do not take the focus
   * @param {Listener} listener
   */
  constructor(screen, { address, watch, quiet = false }, listener) {
    this.screen = screen;
    this.address = address;
    this.watch = watch;
    this.quiet = quiet;
    this.listener = listener;
  }

  /** Connect now. */
  async connect() {
    clearTimeout(this.#timer);
    this.listener.state("connecting");
    try {
      const { scopes } = await call("GET", "/auth", { whole: true });
      this.#open(scopes.split(" "));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {boolean} scaled fitted to the window, or pixel by pixel */
  set scaled(scaled) {
    this.#scaled = scaled;
    if (this.#rfb) this.#rfb.scaleViewport = scaled;
  }

  /** @param {string} text put on the desktop's clipboard */
  paste(text) {
    this.#rfb?.clipboardPasteFrom(text);
  }

  /** @param {string} text typed on the desktop, key by key */
  type(text) {
    for (const character of text) this.#press(character);
    this.focus();
  }

  focus() {
    this.#rfb?.focus();
  }

  /** @param {string} character */
  #press(character) {
    const shifted = character !== character.toLowerCase();
    if (shifted) this.#rfb?.sendKey(SHIFT, null, true);
    this.#rfb?.sendKey(NAMED[character] ?? keysyms.lookup(character.codePointAt(0) ?? 0), null);
    if (shifted) this.#rfb?.sendKey(SHIFT, null, false);
  }

  /** @param {string[]} scopes what the caller may do */
  #open(scopes) {
    if (!scopes.includes("view")) {
      this.listener.state("refused", "You are signed in, but may not see the desktop: that needs the scope view.");
      return;
    }
    const control = scopes.includes("control") && !this.watch;
    const socket = new WebSocket(this.address);
    const rfb = new RFB(this.screen, /** @type {any} */ (socket), { shared: true });
    rfb.viewOnly = !control;
    rfb.scaleViewport = this.#scaled;
    rfb.qualityLevel = SHARP;
    rfb.background = "transparent";
    rfb.addEventListener("connect", () => this.#connected(control));
    rfb.addEventListener("clipboard", (/** @type {CustomEvent} */ event) => this.listener.copied(event.detail.text));
    rfb.addEventListener("securityfailure", () => this.listener.state("refused", "The desktop's server asks for a password."));
    socket.addEventListener("close", (event) => this.#closed(rfb, event.reason));
    this.#rfb = rfb;
  }

  /** @param {boolean} control */
  #connected(control) {
    this.#delay = FIRST_DELAY_MS;
    this.listener.control(control);
    this.listener.state("connected");
    if (!this.quiet) this.focus();
  }

  /**
   * @param {InstanceType<typeof RFB>} rfb
   * @param {string} reason
   */
  #closed(rfb, reason) {
    if (rfb !== this.#rfb) return;
    this.#rfb = undefined;
    this.#again(reason);
  }

  /** @param {unknown} error */
  #failed(error) {
    if (error instanceof ApiError && error.status === 401) {
      this.listener.state("refused", "You are signed out. Sign in, or open a new link.");
    } else if (error instanceof ApiError && error.status === 403) {
      this.listener.state("refused", error.message);
    } else {
      this.#again(error instanceof ApiError ? error.message : "The sandbox does not answer.");
    }
  }

  /** @param {string} reason */
  #again(reason) {
    this.listener.state("lost", reason);
    this.#timer = setTimeout(() => this.connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }
}
