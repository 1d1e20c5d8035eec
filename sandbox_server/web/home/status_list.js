// A list of names, each with a state and a hint.

/** @typedef {{name: string, state: string, tone: "good" | "waiting" | "bad" | "", hint?: string | null, detail?: string}} Row */

export class StatusList {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
  }

  /** @param {Row[]} rows */
  show(rows) {
    this.list.replaceChildren(...rows.map((row) => this.#item(row)));
  }

  /** @param {string} message */
  fail(message) {
    this.show([{ name: message, state: "", tone: "" }]);
  }

  /** @param {Row} row */
  #item({ name, state, tone, hint, detail }) {
    const item = document.createElement("li");
    item.append(element("span", name.replaceAll("_", " ")));
    if (state) {
      const shown = element("span", state);
      shown.className = `state ${tone}`;
      shown.title = detail ?? "";
      item.append(shown);
    }
    if (hint) {
      item.append(element("small", hint));
    }
    return item;
  }
}

/**
 * @param {string} name
 * @param {string} text
 */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
