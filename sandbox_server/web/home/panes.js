// The panes of the home page: screen, terminal, editor and notebook. Each opens as a page; the first two also in an iframe, here.

import { element, quiet } from "/static/home/elements.js";
import { translate } from "/static/home/strings.js";

const KEY = "panes";

/**
 * @typedef {{open: string[], large: string}} Remembered
 * @typedef {{address: string, apart?: boolean}} Place `apart`: it is the agent's, has its own origin and is never framed here
 */

/** @type {Record<string, Place>} */
const PLACES = {
  browser: { address: "/view" },
  terminal: { address: "/terminal" },
  editor: { address: "/code-server/", apart: true },
  notebook: { address: "/jupyter/", apart: true },
};

/** One pane: a card while it is closed, a page in an iframe while it is open. */
class Pane {
  /**
   * @param {HTMLElement} card
   * @param {Place} place
   * @param {() => void} changed
   */
  constructor(card, place, changed) {
    this.card = card;
    this.name = card.dataset.pane ?? "";
    this.place = place;
    this.changed = changed;
    this.state = /** @type {HTMLElement} */ (card.querySelector(".state"));
    this.here = quiet(translate("here"), () => (this.open(), changed()));
    this.large = quiet(translate("enlarge"), () => (this.enlarge(!this.isLarge), changed()));
    this.shut = quiet(translate("close"), () => (this.close(), changed()));
    this.alone = element("a", { className: "button small", textContent: translate("own"), href: place.address });
    const title = card.querySelector("h2, h3")?.textContent ?? "";
    for (const each of [this.alone, this.here, this.large, this.shut]) each.setAttribute("aria-label", `${each.textContent}: ${title}`);
    card.append(element("div", { className: "line" }, this.alone, this.here, this.large, this.shut));
    this.#arrange();
  }

  get isOpen() {
    return this.frame !== undefined;
  }

  get isLarge() {
    return this.card.classList.contains("large");
  }

  /**
   * Set whether it can be opened.
   * @param {boolean} available
   * @param {string} [reason]
   */
  allow(available, reason = translate("notInstalled")) {
    this.unavailable = !available;
    this.show(available ? "" : reason, "");
    this.#arrange();
  }

  /** Open its page in an iframe. */
  open() {
    if (this.isOpen || this.unavailable || this.place.apart) return;
    this.frame = document.createElement("iframe");
    this.frame.title = this.card.querySelector("h2, h3")?.textContent ?? "";
    this.frame.allow = "clipboard-read; clipboard-write; fullscreen; autoplay";
    this.frame.src = this.#left() ?? this.place.address;
    this.frame.addEventListener("load", () => this.frame?.contentDocument?.documentElement.classList.add("framed"));
    this.card.querySelector("header")?.after(this.frame);
    this.#arrange();
  }

  /** Remember the address within its page, such as the terminal's session, for a reload of this tab. */
  leave() {
    const at = this.frame?.contentWindow?.location;
    if (at) sessionStorage.setItem(`${KEY}.${this.name}`, at.pathname + at.search);
    else sessionStorage.removeItem(`${KEY}.${this.name}`);
  }

  #left() {
    const left = sessionStorage.getItem(`${KEY}.${this.name}`);
    return left?.startsWith(this.place.address) ? left : null;
  }

  /** Close its page. */
  close() {
    this.frame?.remove();
    this.frame = undefined;
    this.enlarge(false);
    this.#arrange();
  }

  /** @param {boolean} large whether it fills the row, with its header in sight */
  enlarge(large) {
    this.card.classList.toggle("large", large && this.isOpen);
    if (this.isLarge) this.card.scrollIntoView({ block: "start" });
    this.#arrange();
  }

  /**
   * @param {string} text
   * @param {string} tone
   */
  show(text, tone) {
    this.state.textContent = text;
    this.state.className = `state ${tone}`;
  }

  #arrange() {
    this.card.classList.toggle("open", this.isOpen);
    this.here.hidden = this.isOpen || Boolean(this.unavailable) || Boolean(this.place.apart);
    this.alone.hidden = Boolean(this.unavailable);
    this.large.hidden = this.shut.hidden = !this.isOpen;
    this.large.textContent = translate(this.isLarge ? "shrink" : "enlarge");
    this.large.setAttribute("aria-label", `${this.large.textContent}: ${this.card.querySelector("h2, h3")?.textContent ?? ""}`);
    this.state.hidden = !this.state.textContent;
  }
}

export class Panes {
  /**
   * @param {HTMLElement[]} cards
   * @param {() => void} changed when one was opened or closed
   */
  constructor(cards, changed = () => {}) {
    const made = cards.map((card) => new Pane(card, PLACES[card.dataset.pane ?? ""], () => (this.#remember(), changed())));
    this.byName = Object.fromEntries(made.map((pane) => [pane.name, pane]));
    this.changed = changed;
    addEventListener("pagehide", () => made.forEach((pane) => pane.leave()));
  }

  /** Open the panes that were open when the page was left. */
  restore() {
    const { open, large } = remembered();
    open.forEach((name) => this.byName[name]?.open());
    this.byName[large]?.enlarge(true);
    this.changed();
  }

  #remember() {
    const all = Object.values(this.byName);
    const open = all.filter((pane) => pane.isOpen).map((pane) => pane.name);
    const large = all.find((pane) => pane.isLarge)?.name ?? "";
    localStorage.setItem(KEY, JSON.stringify({ open, large }));
  }
}

/** @returns {Remembered} */
function remembered() {
  const nothing = { open: [], large: "" };
  try {
    return { ...nothing, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return nothing;
  }
}
