// The desktop's clipboard, shown in a field, and shared with this computer's where the browser allows that.

import { keep } from "/static/stream/clipboard.js";

const MAX_BYTES = 1 << 20;

export class Clipboard {
  #known = "";

  /**
   * @param {{text: HTMLTextAreaElement, hint: HTMLElement, join: HTMLButtonElement}} parts
   * @param {(text: string) => void} send puts a text on the desktop's clipboard
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

  /** Take what was copied on the desktop. @param {{text: string, html?: string, png?: Blob}} copied */
  async take(copied) {
    this.#known = copied.text;
    this.text.value = copied.text;
    this.hint.textContent = "";
    await keep(copied);
  }

  /** @param {string} text */
  #put(text) {
    const bytes = new TextEncoder().encode(text.replace(/\r?\n/g, "\r\n")).length;
    const fits = bytes < MAX_BYTES;
    this.hint.textContent = fits ? "" : "Too long: the clipboard takes 1 MiB. What was on it before still is.";
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
      this.hint.textContent = "The browser keeps its clipboard to itself. Paste here instead.";
    }
  }
}

/** Whether the browser lets this page read its clipboard; it has none for pages that are not encrypted, except on localhost. */
async function permission() {
  if (!navigator.clipboard?.readText) return "denied";
  try {
    return (await navigator.permissions.query({ name: /** @type {any} */ ("clipboard-read") })).state;
  } catch {
    return "prompt";
  }
}
