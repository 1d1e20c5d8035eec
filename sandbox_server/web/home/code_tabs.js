// Tabs of code, with a button that copies the chosen one.

import { translate } from "/static/home/folded_strings.js";

export class CodeTabs {
  /**
   * @param {HTMLElement} section
   * @param {Record<string, string>} byName
   */
  constructor(section, byName) {
    this.tabs = /** @type {HTMLElement} */ (section.querySelector("[role=tablist]"));
    this.code = /** @type {HTMLElement} */ (section.querySelector("code"));
    this.copy = /** @type {HTMLButtonElement} */ (section.querySelector(".copy"));
    this.byName = byName;
    this.selected = Object.keys(byName)[0];
    this.tabs.replaceChildren(...Object.keys(byName).map((name) => this.#tab(name)));
    this.tabs.addEventListener("keydown", (event) => this.#move(event));
    this.copy.addEventListener("click", () => this.#copy());
    this.select(this.selected);
  }

  /** Show other code under the same names. @param {Record<string, string>} byName */
  fill(byName) {
    this.byName = byName;
    this.select(this.selected);
  }

  /** @param {string} name */
  select(name) {
    this.selected = name;
    this.code.textContent = this.byName[name];
    for (const tab of this.tabs.children) {
      const chosen = tab.textContent === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("tabindex", chosen ? "0" : "-1");
    }
  }

  /** @param {string} name */
  #tab(name) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.textContent = name;
    tab.addEventListener("click", () => this.select(name));
    return tab;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) {
      return;
    }
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = tabs[(at + step + tabs.length) % tabs.length];
    this.select(next.textContent ?? "");
    next.focus();
  }

  async #copy() {
    const done = await copied(this.code).catch(() => false);
    this.copy.textContent = translate(done ? "copied" : "selected");
    setTimeout(() => (this.copy.textContent = translate("copy")), 1500);
  }
}

/**
 * Copy an element's text; on plain http, where browsers have no clipboard, select it.
 * @param {HTMLElement} code
 */
async function copied(code) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  }
  getSelection()?.selectAllChildren(code);
  return false;
}
