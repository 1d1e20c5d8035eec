// The desktop over VNC: one RFB connection, which reconnects when it is lost.

import { ApiError, call } from "/static/api.js";
import { isBlocked } from "/static/websocket_check.js";
import keysyms from "/static/vendor/novnc/core/input/keysymdef.js";
import { translate } from "/static/vnc/strings.js";
import RFB from "/static/vendor/novnc/core/rfb.js";

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;
/** How often a connection fails before it is asked whether this network lets WebSockets through at all. */
const BLOCKED_AFTER = 2;
const SHARP = 8;
const SHIFT = 0xffe1;
/** @type {Record<string, number>} */
const NAMED = { "\n": 0xff0d, "\t": 0xff09 };

/**
 * @typedef {object} Listener
 * @property {(state: "connecting" | "connected" | "lost" | "blocked" | "refused", reason?: string) => void} state
 * @property {(control: boolean) => void} control whether this viewer's mouse and keyboard count
 * @property {(text: string) => void} copied text that was copied on the desktop
 */

export class VncConnection {
  /** @type {InstanceType<typeof RFB> | undefined} */
  #rfb;
  #delay = FIRST_DELAY_MS;
  #timer = 0;
  #scaled = true;
  #wanted = false;
  /** How often no connection came about; undefined once one has. @type {number | undefined} */
  #failures = 0;
  #blocked = false;

  /**
   * @param {HTMLElement} screen
   * @param {{address: URL, watch: boolean}} options `address`: of the WebSocket; `watch`: view only, even if control is allowed
   * @param {Listener} listener
   */
  constructor(screen, { address, watch }, listener) {
    this.screen = screen;
    this.address = address;
    this.watch = watch;
    this.listener = listener;
  }

  /** Connect now. */
  async connect() {
    clearTimeout(this.#timer);
    this.#wanted = true;
    if (!this.#blocked) this.listener.state("connecting");
    try {
      const { scopes } = await call("GET", "/auth", { whole: true });
      this.#open(scopes.split(" "));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Disconnect, and do not connect again by itself. */
  close() {
    clearTimeout(this.#timer);
    this.#wanted = false;
    const rfb = this.#rfb;
    this.#rfb = undefined;
    rfb?.disconnect();
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
    if (!this.#wanted) return;
    if (!scopes.includes("view")) {
      this.listener.state("refused", translate("noView"));
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
    rfb.addEventListener("securityfailure", () => this.listener.state("refused", translate("password")));
    socket.addEventListener("open", () => (this.#failures = undefined));
    socket.addEventListener("close", (event) => this.#closed(rfb, event.reason));
    this.#rfb = rfb;
  }

  /** @param {boolean} control */
  #connected(control) {
    this.#delay = FIRST_DELAY_MS;
    this.#blocked = false;
    this.listener.control(control);
    this.listener.state("connected");
  }

  /**
   * @param {InstanceType<typeof RFB>} rfb
   * @param {string} reason
   */
  #closed(rfb, reason) {
    if (rfb !== this.#rfb) return;
    this.#rfb = undefined;
    this.#again(reason);
    if (this.#failures !== undefined && ++this.#failures >= BLOCKED_AFTER) this.#checkBlocked();
  }

  async #checkBlocked() {
    if (this.#blocked || !(await isBlocked(this.address)) || !this.#wanted) return;
    this.#blocked = true;
    this.listener.state("blocked");
  }

  /** @param {unknown} error */
  #failed(error) {
    if (error instanceof ApiError && error.status === 401) {
      this.listener.state("refused", translate("signedOut"));
    } else if (error instanceof ApiError && error.status === 403) {
      this.listener.state("refused", error.message);
    } else {
      this.#again(error instanceof ApiError ? error.message : translate("silent"));
    }
  }

  /** @param {string} reason */
  #again(reason) {
    if (!this.#wanted) return;
    if (!this.#blocked) this.listener.state("lost", reason);
    this.#timer = setTimeout(() => this.connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
  }
}
