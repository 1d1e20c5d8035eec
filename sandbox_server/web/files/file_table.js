// The table of a folder's entries, or of what a search found. It draws a part of them; a button draws more.

import { element, quiet } from "/static/home/elements.js";
import { nameText, ordered, sizeText, timeText, zone } from "./entries.js";
import { hrefOf, parentOf } from "./paths.js";
import { translate } from "./strings.js";

/** @typedef {import("./entries.js").Entry} Entry @typedef {import("./entries.js").Order} Order @typedef {import("./entries.js").Column} Column */

/** Rows that are drawn at a time. */
const DRAWN = 500;
const COLUMNS = /** @type {const} */ (["name", "size", "modified"]);

export class FileTable {
  /** @type {Order} */
  order = { column: "name", descending: false };
  /** @type {Entry[]} */
  #entries = [];
  #below = "";
  #limit = DRAWN;
  #opened = "";
  /** Entries that the sandbox has and this page did not get yet. */
  #elsewhere = 0;

  /**
   * @param {HTMLElement} place with a table, and a button for more
   * @param {{menu: (entry: Entry, button: HTMLElement) => void, more: () => unknown}} act `more` gets what is elsewhere
   */
  constructor(place, act) {
    this.place = place;
    this.act = act;
    this.button = this.#find("button");
    this.button.onclick = () => this.#showMore();
    this.#drawHead();
  }

  /**
   * @param {Entry[]} entries
   * @param {{below?: string, elsewhere?: number, again?: boolean}} [how] `below`: paths are shown from that folder on; `again`: it is the folder of before
   */
  show(entries, { below = "", elsewhere = 0, again = false } = {}) {
    if (!again) this.#limit = DRAWN;
    this.#entries = entries;
    this.#below = below;
    this.#elsewhere = elsewhere;
    this.#draw();
  }

  /** Mark the file that the preview shows. @param {string} path */
  mark(path) {
    this.#opened = path;
    for (const row of this.#find("tbody").children) row.toggleAttribute("data-open", /** @type {HTMLElement} */ (row).dataset.path === path);
  }

  async #showMore() {
    this.#limit += DRAWN;
    if (this.#limit > this.#entries.length && this.#elsewhere) await this.act.more();
    else this.#draw();
  }

  #draw() {
    const focused = focusIn(this.#find("tbody"));
    const sorted = ordered(this.#entries, this.order);
    this.#find("tbody").replaceChildren(...sorted.slice(0, this.#limit).map((entry) => this.#row(entry)));
    const left = Math.max(0, sorted.length - this.#limit) + this.#elsewhere;
    this.button.hidden = !left;
    this.button.textContent = translate("more", { left });
    this.#find("table").hidden = !sorted.length;
    focused(this.#find("tbody"));
  }

  #drawHead() {
    const cells = COLUMNS.map((column) => {
      const text = translate(column, { zone: zone() });
      const sort = element("button", { type: "button", textContent: text, onclick: () => this.#sort(column) });
      const cell = element("th", { className: column, scope: "col" }, sort);
      cell.setAttribute("aria-sort", this.order.column !== column ? "none" : this.order.descending ? "descending" : "ascending");
      return cell;
    });
    const last = element("th", { className: "act", scope: "col" }, element("span", { className: "unseen", textContent: translate("act") }));
    this.#find("thead tr").replaceChildren(...cells, last);
  }

  /** @param {Column} column */
  #sort(column) {
    const same = this.order.column === column;
    this.order = { column, descending: same ? !this.order.descending : column !== "name" };
    this.#drawHead();
    /** @type {HTMLElement} */ (this.#find(`th.${column}`).firstElementChild).focus();
    this.#draw();
  }

  /** @param {Entry} entry */
  #row(entry) {
    const time = timeText(entry);
    const bytes = sizeText(entry);
    const act = quiet("⋯", () => this.act.menu(entry, act));
    act.setAttribute("aria-label", translate("actionsOf", { name: nameText(entry.name) }));
    const row = element(
      "tr",
      {},
      element("td", { className: "name" }, this.#name(entry), element("span", { className: "both muted", textContent: [bytes, time].filter(Boolean).join(" · ") })),
      element("td", { className: "size muted", textContent: bytes }),
      element("td", { className: "modified muted", textContent: time }),
      element("td", { className: "act" }, act),
    );
    row.dataset.path = entry.path;
    row.toggleAttribute("data-open", entry.path === this.#opened);
    return row;
  }

  /** @param {Entry} entry */
  #name(entry) {
    const shown = this.#below ? entry.path.slice(this.#below === "/" ? 1 : this.#below.length + 1) : entry.name;
    const link = element("a", { href: entry.is_directory ? hrefOf(entry.path) : hrefOf(parentOf(entry.path), entry.name) });
    const kind = element("span", { className: entry.is_directory ? "icon folder" : "icon file" });
    if (entry.is_directory) kind.append(element("span", { className: "unseen", textContent: translate("folder") }));
    link.append(kind, element("bdi", { textContent: nameText(shown) }));
    if (!entry.is_symlink) return link;
    return element("span", {}, link, " ", element("span", { className: "badge", textContent: translate("link"), title: translate("linkTitle") }));
  }

  /** @param {string} selector */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.place.querySelector(selector));
  }
}

/** Remember which row has the focus, and give it back to the row of that path. @param {HTMLElement} body @returns {(body: HTMLElement) => void} */
function focusIn(body) {
  const row = [...body.children].find((each) => each.contains(document.activeElement));
  if (!row) return () => {};
  const { path } = /** @type {HTMLElement} */ (row).dataset;
  const kind = document.activeElement?.localName ?? "a";
  return (drawn) => {
    const now = [...drawn.children].find((each) => /** @type {HTMLElement} */ (each).dataset.path === path);
    /** @type {HTMLElement | null | undefined} */ (now?.querySelector(kind))?.focus();
  };
}
