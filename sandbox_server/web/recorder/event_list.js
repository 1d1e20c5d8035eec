// The list of what happened, the latest first. Rows stay as they are while others are added; one of them may be open.

import { detail } from "./detail.js";
import { element } from "/static/checkpoints/elements.js";
import { pieces } from "./elements.js";
import { actorOf } from "./rows.js";
import { driverOf, isFailed, nameOf, sentence, sentenceText } from "./sentences.js";
import { moment, translate } from "./strings.js";

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {{row: Row, item: HTMLElement, button: HTMLElement, signature: string}} Shown */

export class EventList {
  /** The name of who reads: what that person did is told as such. @type {string | null} */
  me = null;
  /** @type {Map<number, Shown>} by the number of the row's first event */
  #shown = new Map();
  /** @type {Row[]} the earliest first */
  #rows = [];
  /** @type {number | null} */
  #open = null;
  #current = -1;

  /**
   * @param {HTMLElement} list
   * @param {import("./detail.js").DetailActions & {seek: (at: number) => void, earlier: () => void, later: () => void}} actions
   */
  constructor(list, actions) {
    this.list = list;
    this.actions = actions;
    this.top = this.#more("later", actions.later);
    this.bottom = this.#more("earlier", actions.earlier);
    this.empty = element("li", "empty muted", translate("none"));
    list.replaceChildren(this.top, this.empty, this.bottom);
    list.addEventListener("keydown", (event) => this.#step(event));
  }

  /** @param {"later" | "earlier"} key @param {() => void} act */
  #more(key, act) {
    const item = element("li", "more");
    const button = element("button", "button quiet", translate(key));
    button.onclick = act;
    item.append(button);
    item.hidden = true;
    return item;
  }

  /** @param {Row[]} rows the earliest first @param {{hasEarlier: boolean, hasLater: boolean}} window */
  show(rows, { hasEarlier, hasLater }) {
    this.#rows = rows;
    this.top.hidden = !hasLater;
    this.bottom.hidden = !hasEarlier;
    this.empty.hidden = rows.length > 0;
    const shown = new Map(rows.map((row) => [row.n, this.#update(row)]));
    for (const [n, { item }] of this.#shown) if (!shown.has(n)) item.remove();
    this.#shown = shown;
    let before = this.top;
    for (const row of rows.toReversed()) {
      const { item } = /** @type {Shown} */ (shown.get(row.n));
      if (before.nextElementSibling !== item) before.after(item);
      before = item;
    }
    this.#current = -1;
  }

  /** Mark the row of a moment; whether there is one. @param {number} at @param {boolean} follow whether it is scrolled into view */
  point(at, follow) {
    const row = this.#rows.findLast(({ from }) => from <= at + 0.001);
    if (row?.n === this.#current) return true;
    this.#shown.get(this.#current)?.button.removeAttribute("aria-current");
    this.#current = row?.n ?? -1;
    const shown = this.#shown.get(this.#current);
    shown?.button.setAttribute("aria-current", "true");
    if (follow) shown?.item.scrollIntoView({ block: "nearest" });
    return shown !== undefined;
  }

  /** @param {Row} row @returns {Shown} */
  #update(row) {
    const known = this.#shown.get(row.n);
    const last = /** @type {import("./event_log.js").Entry} */ (row.entries.at(-1));
    const signature = `${this.me} ${last.n} ${row.ended?.n ?? ""}`;
    if (known?.signature === signature) return { ...known, row };
    const item = known?.item ?? element("li", "row");
    const button = known?.button ?? element("button");
    if (!known) item.append(button);
    item.dataset.driver = driverOf(actorOf(row.entries[0]), this.me);
    this.#fill(button, row);
    if (known && this.#open === row.n) this.#expand({ row, item, button, signature });
    return { row, item, button, signature };
  }

  /** @param {HTMLElement} button @param {Row} row */
  #fill(button, row) {
    const [entry] = row.entries;
    const what = element("span", "what");
    what.append(...pieces(sentence(row, this.me)));
    button.dataset.n = String(row.n);
    button.dataset.kind = entry.kind;
    button.className = isFailed(entry, row.ended) ? "failed" : "";
    button.title = sentenceText(row, this.me);
    button.setAttribute("aria-expanded", String(this.#open === row.n));
    button.replaceChildren(element("time", "", moment(row.at)), what, element("span", "who", `${translate(kindOf(entry))} · ${nameOf(actorOf(entry), this.me)}`));
    button.onclick = () => this.#toggle(row.n);
  }

  /** @param {number} n */
  #toggle(n) {
    const shown = this.#shown.get(n);
    if (!shown) return;
    const opens = this.#open !== n;
    this.close();
    this.actions.seek(shown.row.from);
    if (!opens) return;
    this.#open = n;
    this.#expand(shown);
    shown.button.setAttribute("aria-expanded", "true");
  }

  /** Close the row that is open. */
  close() {
    const shown = this.#open === null ? undefined : this.#shown.get(this.#open);
    this.#open = null;
    shown?.button.setAttribute("aria-expanded", "false");
    shown?.item.querySelector(".detail")?.remove();
  }

  /** @param {Shown} shown */
  #expand({ row, item }) {
    item.querySelector(".detail")?.remove();
    item.append(detail(row, this.me, this.actions));
    item.scrollIntoView({ block: "nearest" });
  }

  /** The arrow keys move in the list, and the moment with them; Escape closes what is open. @param {KeyboardEvent} event */
  #step(event) {
    if (event.key === "Escape") return this.close();
    const way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const item = /** @type {HTMLElement} */ (event.target).closest("li.row");
    const next = way && item && /** @type {any} */ (item)[way]?.querySelector("button");
    if (!next) return;
    event.preventDefault();
    next.focus();
    const shown = this.#shown.get(Number(next.dataset.n));
    if (shown) this.actions.seek(shown.row.from);
  }
}

/** @param {import("./event_log.js").Entry} entry @returns {import("./strings.js").StringKey} */
function kindOf({ kind, event }) {
  if (kind === "control" && (event === "came" || event === "left")) return "viewer";
  return KINDS.includes(kind) ? /** @type {import("./strings.js").StringKey} */ (kind) : "call";
}

const KINDS = ["command", "file", "input", "navigation", "control", "handoff", "receipt", "checkpoint", "access", "egress", "video", "call", "read", "log"];
