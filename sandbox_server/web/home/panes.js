// The panes of the home page: desktop, terminal, editor and notebook, each opened in an iframe or on a page of its own.

const KEY = "panes";

/**
 * @typedef {{layout: "grid" | "rows", open: string[], large: string}} Remembered
 * @typedef {{address: string, page?: string, apart?: boolean}} Place `page`: its address as a page of its own; `apart`: it is the agent's, has its
 *   own origin and is never framed here
 */

/** @type {Record<string, Place>} */
const PLACES = {
  browser: { address: "/vnc/index.html", page: "/view" },
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
    this.state = /** @type {HTMLElement} */ (card.querySelector(".state"));
    this.here = button("Open here", () => (this.open(), changed()));
    this.large = button("Enlarge", () => (this.enlarge(!this.isLarge), changed()));
    this.shut = button("Close", () => (this.close(), changed()));
    this.alone = Object.assign(document.createElement("a"), { className: "button quiet", textContent: "Own page" });
    const line = Object.assign(document.createElement("div"), { className: "line" });
    line.append(this.here, this.large, this.shut, this.alone);
    card.append(line);
    this.address = place.address;
    this.#arrange();
  }

  get isOpen() {
    return this.frame !== undefined;
  }

  get isLarge() {
    return this.card.classList.contains("large");
  }

  /** @param {string} address of its page */
  set address(address) {
    this.place = { ...this.place, address };
    this.alone.href = this.place.page ?? address;
  }

  /**
   * Set whether it can be opened.
   * @param {boolean} available
   * @param {string} [reason]
   */
  allow(available, reason = "Not installed") {
    this.unavailable = !available;
    this.show(available ? "" : reason, "");
    this.#arrange();
  }

  /** Open its page in an iframe. */
  open() {
    if (this.isOpen || this.unavailable || this.place.apart) return;
    this.frame = document.createElement("iframe");
    this.frame.title = this.card.querySelector("h3")?.textContent ?? "";
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

  /** @param {boolean} large whether it fills the row */
  enlarge(large) {
    this.card.classList.toggle("large", large && this.isOpen);
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
    this.large.textContent = this.isLarge ? "Shrink" : "Enlarge";
    this.state.hidden = !this.state.textContent;
  }
}

export class Panes {
  /**
   * @param {HTMLElement} grid
   * @param {HTMLElement} layouts the buttons that choose a layout
   */
  constructor(grid, layouts) {
    this.grid = grid;
    this.layouts = /** @type {HTMLElement[]} */ ([...layouts.children]);
    const cards = /** @type {HTMLElement[]} */ ([...grid.children]);
    const made = cards.map((card) => new Pane(card, PLACES[card.dataset.pane ?? ""], () => this.#remember()));
    this.byName = Object.fromEntries(made.map((pane) => [pane.name, pane]));
    addEventListener("pagehide", () => made.forEach((pane) => pane.leave()));
    for (const each of this.layouts) {
      each.addEventListener("click", () => (this.#arrange(each.dataset.layout ?? "grid"), this.#remember()));
    }
  }

  /** Open the panes that were open when the page was left. */
  restore() {
    const { layout, open, large } = remembered();
    this.#arrange(layout);
    open.forEach((name) => this.byName[name]?.open());
    this.byName[large]?.enlarge(true);
  }

  /** @param {string} layout */
  #arrange(layout) {
    this.grid.dataset.layout = layout;
    for (const each of this.layouts) each.setAttribute("aria-pressed", String(each.dataset.layout === layout));
  }

  #remember() {
    const all = Object.values(this.byName);
    const open = all.filter((pane) => pane.isOpen).map((pane) => pane.name);
    const large = all.find((pane) => pane.isLarge)?.name ?? "";
    localStorage.setItem(KEY, JSON.stringify({ layout: this.grid.dataset.layout, open, large }));
  }
}

/** @returns {Remembered} */
function remembered() {
  const nothing = { layout: /** @type {const} */ ("grid"), open: [], large: "" };
  try {
    return { ...nothing, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
  } catch {
    return nothing;
  }
}

/**
 * @param {string} text
 * @param {() => unknown} act
 */
function button(text, act) {
  const made = Object.assign(document.createElement("button"), { className: "button quiet", type: "button", textContent: text });
  made.addEventListener("click", act);
  return made;
}
