// A question to the person: a title, a text, perhaps a field, and the answers.

import { element } from "/static/home/elements.js";
import { translate } from "./strings.js";

/**
 * @typedef {object} Asked
 * @property {string} title
 * @property {string} [text]
 * @property {{label: string, value: string, check: (value: string) => string}} [field] `check` says what is wrong with a value
 * @property {[string, string][]} answers values and texts, the main one first
 * @property {string} [cancel]
 */

export class Question {
  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.dialog = dialog;
    this.form = /** @type {HTMLFormElement} */ (dialog.querySelector("form"));
    this.input = /** @type {HTMLInputElement} */ (dialog.querySelector("input"));
  }

  /** @param {Asked} asked @returns {Promise<{answer: string, value: string} | undefined>} undefined once it is cancelled */
  ask({ title, text = "", field, answers, cancel = translate("cancel") }) {
    this.#find("h2").textContent = title;
    this.#find("p").textContent = text;
    this.#find("p").hidden = !text;
    this.#setField(field);
    const refuse = element("button", { type: "button", className: "button quiet", textContent: cancel, onclick: () => this.dialog.close("") });
    this.#find(".line").replaceChildren(...answers.map(([value, said], index) => button(value, said, index === 0)), refuse);
    this.dialog.returnValue = "";
    this.dialog.showModal();
    if (field) this.#select(field.value);
    else refuse.focus();
    return new Promise((done) => {
      const close = () => done(this.dialog.returnValue ? { answer: this.dialog.returnValue, value: this.input.value } : undefined);
      this.dialog.addEventListener("close", close, { once: true });
    });
  }

  /** @param {Asked["field"]} field */
  #setField(field) {
    const label = this.#find("label");
    label.hidden = this.input.disabled = !field;
    this.input.value = field?.value ?? "";
    this.#find("label span").textContent = field?.label ?? "";
    const check = () => this.input.setCustomValidity(field?.check(this.input.value) ?? "");
    this.input.oninput = check;
    check();
  }

  /** Select the name without its ending. @param {string} value */
  #select(value) {
    const ending = value.lastIndexOf(".");
    this.input.focus();
    this.input.setSelectionRange(0, ending > 0 ? ending : value.length);
  }

  /** @param {string} selector */
  #find(selector) {
    return /** @type {HTMLElement} */ (this.dialog.querySelector(selector));
  }
}

/** @param {string} value @param {string} textContent @param {boolean} main */
function button(value, textContent, main) {
  return element("button", { type: "submit", className: main ? "button" : "button quiet", value, textContent });
}
