// The menu of one entry: open, download, rename, delete.

import { element } from "/static/home/elements.js";
import { nameText } from "./entries.js";
import { downloadAddress } from "./file_client.js";
import { hrefOf, parentOf } from "./paths.js";
import { translate } from "./strings.js";

/** @typedef {import("./entries.js").Entry} Entry */

const MARGIN = 8;

export class RowMenu {
  /** @param {HTMLElement} place a popover @param {{rename: (entry: Entry) => unknown, remove: (entry: Entry) => unknown}} act */
  constructor(place, act) {
    this.place = place;
    this.act = act;
  }

  /** @param {Entry} entry @param {HTMLElement} beside */
  show(entry, beside) {
    this.place.replaceChildren(...this.#items(entry));
    this.place.setAttribute("aria-label", translate("actionsOf", { name: nameText(entry.name) }));
    this.place.showPopover();
    this.#put(beside.getBoundingClientRect());
    /** @type {HTMLElement} */ (this.place.firstElementChild).focus();
  }

  /** @param {Entry} entry */
  #items(entry) {
    const close = () => this.place.hidePopover();
    const href = entry.is_directory ? hrefOf(entry.path) : hrefOf(parentOf(entry.path), entry.name);
    const open = element("a", { className: "button quiet", textContent: translate("open"), href, onclick: close });
    const load = element("a", { className: "button quiet", textContent: translate("download"), href: downloadAddress(entry.path), download: entry.name, onclick: close });
    const rename = this.#button(translate("rename"), () => this.act.rename(entry));
    const remove = this.#button(translate("delete"), () => this.act.remove(entry));
    return entry.is_directory ? [open, rename, remove] : [open, load, rename, remove];
  }

  /** @param {string} textContent @param {() => unknown} act */
  #button(textContent, act) {
    const onclick = () => {
      this.place.hidePopover();
      act();
    };
    return element("button", { type: "button", className: "button quiet", textContent, onclick });
  }

  /** Beside its button, within the window. @param {DOMRect} beside */
  #put(beside) {
    const { width, height } = this.place.getBoundingClientRect();
    const below = beside.bottom + height + MARGIN <= innerHeight;
    this.place.style.left = `${Math.max(MARGIN, beside.right - width)}px`;
    this.place.style.top = `${Math.max(MARGIN, below ? beside.bottom : beside.top - height)}px`;
  }
}
