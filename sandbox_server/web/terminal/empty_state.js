// What stands in place of a terminal where there is none to show: why, and which sessions can be opened or closed.

import { translate } from "/static/terminal/strings.js";

/** @typedef {"none" | "ended" | "full" | "held"} Reason */

export class EmptyState {
  /** Why it is shown; undefined while it is not. @type {Reason | undefined} */
  reason;
  #shown = "";

  /**
   * @param {HTMLElement} place with a heading, a paragraph, a list, and a button for a new session
   * @param {{open: (id: string) => void, close: (id: string) => void, create: () => void}} act
   */
  constructor(place, act) {
    this.place = place;
    this.act = act;
    this.button = /** @type {HTMLButtonElement} */ (place.querySelector(".create"));
    this.button.onclick = () => act.create();
  }

  /** @param {Reason} reason */
  show(reason) {
    this.reason = reason;
    this.#find("h2").textContent = translate(`${reason}Title`);
    this.#find("p").textContent = translate(`${reason}Text`);
    this.place.hidden = false;
    this.button.hidden = reason === "full" || reason === "held";
    if (!this.button.hidden) this.button.focus();
  }

  hide() {
    this.reason = undefined;
    this.place.hidden = true;
  }

  /** List the sessions that there are. @param {{id: string, title: string}[]} entries */
  list(entries) {
    const drawn = JSON.stringify(entries.map(({ id, title }) => [id, title]));
    if (drawn === this.#shown) return; // a row that has the focus stays
    this.#shown = drawn;
    this.#find("ul").replaceChildren(...entries.map((entry) => this.#row(entry)));
  }

  /** @param {{id: string, title: string}} entry */
  #row({ id, title }) {
    const row = document.createElement("li");
    row.append(button(title, "quiet session", () => this.act.open(id)), button(translate("close"), "quiet", () => this.act.close(id)));
    row.children[1].setAttribute("aria-label", `${translate("close")}: ${title}`);
    return row;
  }

  /** @param {string} selector */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.place.querySelector(selector));
  }
}

/** @param {string} text @param {string} kind @param {() => void} pressed */
function button(text, kind, pressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `button ${kind}`;
  made.textContent = text;
  made.onclick = pressed;
  return made;
}
