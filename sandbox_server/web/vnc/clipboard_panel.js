// The clipboard panel: the desktop's clipboard in a text field, shared with this computer's where the browser allows it.

import { writeClipboard } from "/static/stream/clipboard.js";
import { translate } from "/static/vnc/strings.js";

const MAX_BYTES = 1 << 20;

export class ClipboardPanel {
  #known = "";

  /**
   * @param {{text: HTMLTextAreaElement, hint: HTMLElement, join: HTMLButtonElement}} parts
   * @param {(text: string) => void} send sets the desktop's clipboard
   */
  constructor({ text, hint, join }, send) {
    this.text = text;
    this.hint = hint;
    this.join = join;
    this.send = send;
    this.text.addEventListener("input", () => this.#put(this.text.value));
    this.join.addEventListener("click", () => this.#read());
    addEventListener("focus", () => this.#readIfAllowed());
    this.#readIfAllowed();
  }

  /** Show what was copied on the desktop. @param {{text: string, html?: string, png?: Blob}} copied */
  async take(copied) {
    this.#known = copied.text;
    this.text.value = copied.text;
    this.hint.textContent = "";
    await writeClipboard(copied);
  }

  /** @param {string} text */
  #put(text) {
    const bytes = new TextEncoder().encode(text.replace(/\r?\n/g, "\r\n")).length;
    const fits = bytes < MAX_BYTES;
    this.hint.textContent = fits ? "" : translate("tooLong");
    if (!fits || text === this.#known) return;
    this.#known = text;
    this.send(text);
  }

  async #readIfAllowed() {
    const state = await permission();
    this.join.hidden = state !== "prompt";
    if (state === "granted") await this.#read();
  }

  async #read() {
    try {
      const text = await navigator.clipboard.readText();
      if (text) this.text.value = text;
      this.#put(this.text.value);
      this.join.hidden = true;
    } catch {
      this.hint.textContent = translate("keptBack");
    }
  }
}

/** Whether the browser lets this page read its clipboard, which it offers only on https and at localhost. */
async function permission() {
  if (!navigator.clipboard?.readText) return "denied";
  try {
    return (await navigator.permissions.query({ name: /** @type {any} */ ("clipboard-read") })).state;
  } catch {
    return "prompt";
  }
}
