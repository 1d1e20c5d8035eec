// The preview of a file: the start of a text, or a picture, beside the list.

import { size } from "/static/checkpoints/format.js";
import { element } from "/static/home/elements.js";
import { pictureType, textOf } from "./content.js";
import { nameText } from "./entries.js";
import { downloadAddress, start } from "./file_client.js";
import { reason } from "./reasons.js";
import { translate } from "./strings.js";

/** @typedef {{place: HTMLElement, title: HTMLElement, note: HTMLElement, content: HTMLElement, download: HTMLAnchorElement}} Parts */

const TEXT_BYTES = 256 << 10;
const PICTURE_BYTES = 16 << 20;

export class Preview {
  /** The path of what is shown; empty while nothing is. */
  path = "";
  #version = "";
  #picture = "";
  #loading = new AbortController();

  /** @param {Parts} parts */
  constructor(parts) {
    this.parts = parts;
  }

  /**
   * Show a file, unless this version of it is shown already.
   * @param {string} path
   * @param {string} name
   * @param {string} version what differs once the file has changed
   */
  async show(path, name, version) {
    if (path === this.path && version === this.#version) return;
    const again = path === this.path;
    this.#leave();
    [this.path, this.#version] = [path, version];
    const { place, title, download } = this.parts;
    title.textContent = nameText(name);
    download.href = downloadAddress(path);
    download.download = name;
    place.hidden = false;
    if (!again) this.#draw(translate("loading"));
    await this.#load(path, name, this.#loading.signal);
  }

  close() {
    this.#leave();
    this.path = this.#version = "";
    this.parts.place.hidden = true;
    this.#draw("");
  }

  #leave() {
    this.#loading.abort();
    this.#loading = new AbortController();
  }

  /** @param {string} path @param {string} name @param {AbortSignal} signal */
  async #load(path, name, signal) {
    try {
      const found = await start(path, TEXT_BYTES, signal);
      if (signal.aborted) return;
      const type = pictureType(found.bytes);
      if (type) await this.#showPicture(path, name, type, found, signal);
      else this.#showText(name, found);
    } catch (error) {
      if (!signal.aborted) this.#draw(translate("failed", { reason: reason(error) }));
    }
  }

  /** @param {string} name @param {{bytes: Uint8Array, size: number}} found */
  #showText(name, { bytes, size: whole }) {
    const text = textOf(bytes);
    if (text === undefined) return this.#draw(`${size(whole)}. ${translate("noPreview")}`);
    if (!whole) return this.#draw(translate("emptyFile"));
    const shown = element("pre", { textContent: text, tabIndex: 0, dir: "auto" });
    shown.setAttribute("role", "region");
    shown.setAttribute("aria-label", translate("text", { name: nameText(name) }));
    const cut = whole > bytes.length;
    this.#draw(translate(cut ? "cut" : "whole", { shown: size(bytes.length), size: size(whole) }), shown);
  }

  /** @param {string} path @param {string} name @param {string} type @param {{bytes: Uint8Array<ArrayBuffer>, size: number}} found @param {AbortSignal} signal */
  async #showPicture(path, name, type, found, signal) {
    if (found.size > PICTURE_BYTES) return this.#draw(translate("largeImage", { size: size(found.size) }));
    const whole = found.size > found.bytes.length ? await start(path, PICTURE_BYTES, signal) : found;
    if (signal.aborted) return;
    const address = URL.createObjectURL(new Blob([whole.bytes], { type }));
    const shown = element("img", { alt: translate("image", { name: nameText(name) }) });
    shown.onerror = () => this.#picture === address && this.#draw(translate("badImage"));
    shown.src = address;
    this.#draw(size(found.size), shown);
    this.#picture = address;
  }

  /** @param {string} note @param {HTMLElement[]} content */
  #draw(note, ...content) {
    if (this.#picture) URL.revokeObjectURL(this.#picture);
    this.#picture = "";
    this.parts.note.textContent = note;
    this.parts.content.replaceChildren(...content);
  }
}
