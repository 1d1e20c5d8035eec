// A list of names, each with a state and a hint.

import { element } from "/static/home/elements.js";

/** @typedef {{name: string, state: string, tone: "good" | "waiting" | "bad" | "", hint?: string | null, detail?: string}} Row */

export class StatusList {
  #shown = "";

  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
  }

  /** @param {Row[]} rows */
  show(rows) {
    const now = JSON.stringify(rows);
    if (now !== this.#shown) this.list.replaceChildren(...rows.map(item));
    this.#shown = now;
  }

  /** @param {string} message */
  fail(message) {
    this.show([{ name: message, state: "", tone: "" }]);
  }
}

/** @param {Row} row */
function item({ name, state, tone, hint, detail }) {
  const made = element("li", {}, element("span", { textContent: name }));
  if (state) made.append(element("span", { className: `state ${tone}`, title: detail ?? "", textContent: state }));
  if (hint) made.append(element("small", { textContent: hint }));
  return made;
}
