// Secret fields of a handoff: each value goes into the page of its origin, is shown to nobody and is not kept here.

import { call } from "/static/api.js";
import { translate } from "./strings.js";

/** @typedef {{name: string, label: string, secret: boolean, origin: string | null}} Field */
/** @typedef {{id: string, fields?: Field[], dropped?: string[]}} Asked */

export class SecretFields {
  /** The forms. They outlive a redrawn card, so that nothing is lost while it is typed. @type {Map<string, HTMLFormElement>} */
  #forms = new Map();

  /** @param {Asked} handoff @returns {HTMLElement[]} */
  fields({ id, fields = [], dropped = [] }) {
    return fields.filter(({ secret }) => secret).map((field) => this.#form(id, field, dropped.includes(field.name)));
  }

  /** Forget the forms of requests that are closed. @param {Asked[]} open */
  keep(open) {
    for (const key of this.#forms.keys()) if (!open.some(({ id }) => key.startsWith(`${id}.`))) this.#forms.delete(key);
  }

  /** @param {string} id @param {Field} field @param {boolean} filled */
  #form(id, field, filled) {
    const key = `${id}.${field.name}`;
    const form = this.#forms.get(key) ?? this.#made(id, key, field);
    this.#forms.set(key, form);
    /** @type {HTMLElement} */ (form.querySelector(".filled")).hidden = !filled;
    return form;
  }

  /** @param {string} id @param {string} key @param {Field} field */
  #made(id, key, { name, label, origin }) {
    const form = document.createElement("form");
    form.className = "secret";
    form.innerHTML = `<label></label><p class="muted"></p><div class="tools"><input type="password" autocomplete="off" required>
      <button class="button"></button></div><p class="filled" role="status" hidden></p><p class="error" role="alert"></p>`;
    const [title, input, button] = ["label", "input", "button"].map((tag) => /** @type {HTMLInputElement} */ (form.querySelector(tag)));
    const [about, filled, error] = form.querySelectorAll("p");
    [title.textContent, about.textContent, button.textContent, filled.textContent] = [label, translate("secretFor", { origin: origin ?? "" }), translate("fill"), translate("filled")];
    [input.id, input.name] = [`secret-${key}`, `secret-${key}`];
    title.setAttribute("for", input.id);
    form.onsubmit = async (event) => {
      event.preventDefault();
      const secret = input.value;
      input.value = error.textContent = "";
      await call("POST", `/v1/handoffs/${id}/secret`, { body: { field: name, secret } }).catch((/** @type {Error} */ failure) => {
        error.textContent = translate("failed", { reason: failure.message });
      });
    };
    return form;
  }
}
