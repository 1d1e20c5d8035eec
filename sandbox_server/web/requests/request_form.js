// The form of a request: its fields in the order asked, each with where its content goes. Secrets go into the page, and are not kept here.

import { call } from "/static/api.js";
import { MAX_FIELDS } from "./handoff.js";
import { hostOf, plainLine } from "./plain_text.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Field} Field */
/** @typedef {import("./handoff.js").Handoff} Handoff */

const MAX_LABEL = 200;
const MAX_VALUE = 4000;
let made = 0;

/** One field: its label, its input, where its content goes, and what went wrong. */
class FormField {
  /** @param {Field} field @param {{required: boolean, autocomplete: string}} how */
  constructor(field, { required, autocomplete }) {
    this.field = field;
    this.required = required;
    const id = `request-field-${++made}`;
    this.element = document.createElement("div");
    this.element.className = "field";
    const label = Object.assign(document.createElement("label"), { textContent: plainLine(field.label, MAX_LABEL), dir: "auto" });
    label.setAttribute("for", id);
    this.input = document.createElement("input");
    Object.assign(this.input, { id, name: field.name, type: field.secret ? "password" : "text", autocomplete, maxLength: MAX_VALUE, required });
    this.input.setAttribute("aria-describedby", `${id}-goes`);
    this.goes = Object.assign(document.createElement("p"), { id: `${id}-goes`, className: "muted" });
    this.goes.textContent = field.secret ? translate("toPage", { origin: hostOf(field.origin) }) : translate("toAgent");
    this.filled = Object.assign(document.createElement("p"), { className: "filled", hidden: true });
    this.filled.setAttribute("role", "status");
    this.error = Object.assign(document.createElement("p"), { className: "problem", hidden: true });
    this.error.setAttribute("role", "alert");
    this.element.append(label, this.input, this.goes, this.filled, this.error);
  }

  /** @param {boolean} filled whether the page has its value */
  show(filled) {
    this.filled.hidden = !filled;
    this.filled.textContent = filled ? translate("filledKeep") : "";
    this.input.required = this.required && !filled;
  }

  /** @param {string} text */
  fail(text) {
    this.error.textContent = text;
    this.error.hidden = !text;
  }
}

export class RequestForm {
  /** @param {Handoff} handoff @param {Field[]} fields those to fill in, which may be others than the request names */
  constructor(handoff, fields = handoff.fields) {
    this.handoff = handoff;
    const shown = fields.slice(0, MAX_FIELDS);
    const autocomplete = handoff.kind === "otp" ? "one-time-code" : "off";
    this.fields = shown.map((field) => new FormField(field, { required: field.secret || shown.length === 1, autocomplete }));
    this.element = document.createElement("div");
    this.element.className = "fields";
    this.element.append(...this.fields.map(({ element }) => element));
  }

  /** Whether something was written in it. */
  get begun() {
    return this.fields.some(({ input }) => input.value !== "");
  }

  /** What goes to the agent, by name. @returns {Record<string, string>} */
  get values() {
    const given = this.fields.filter(({ field, input }) => !field.secret && input.value);
    return Object.fromEntries(given.map(({ field, input }) => [field.name, input.value]));
  }

  /** Whether it has a field whose content goes into the page. */
  get hasSecrets() {
    return this.fields.some(({ field }) => field.secret);
  }

  /** @param {Handoff} handoff as it is now */
  show({ dropped = [] }) {
    for (const each of this.fields) each.show(dropped.includes(each.field.name));
  }

  /** Type the secrets into the page. @returns {Promise<boolean>} whether all are there; what is not says why */
  async fill() {
    for (const each of this.fields) each.fail("");
    for (const each of this.fields) {
      if (!each.field.secret || !each.input.value) continue;
      if (!(await this.#drop(each))) return false;
    }
    return true;
  }

  /** @param {FormField} each */
  async #drop(each) {
    const secret = each.input.value;
    try {
      await call("POST", `/v1/handoffs/${this.handoff.id}/secret`, { body: { field: each.field.name, secret } });
      each.input.value = "";
      each.show(true);
      return true;
    } catch (error) {
      each.input.value = "";
      each.fail(translate("failed", { reason: /** @type {Error} */ (error).message }));
      each.input.focus();
      return false;
    }
  }
}
