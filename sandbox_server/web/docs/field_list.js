// A definition list of fields, with the fields inside them.

import { element, withCode } from "/static/docs/elements.js";

/** @typedef {import("/static/docs/openapi.js").Field} Field */

const LIMITS = /** @type {Record<string, string>} */ ({
  minimum: "at least",
  exclusiveMinimum: "more than",
  maximum: "at most",
  exclusiveMaximum: "less than",
  minLength: "at least this long:",
  maxLength: "at most this long:",
  pattern: "matches",
});

/**
 * @param {Field[]} fields
 * @param {{asked: boolean}} options whether they are of the request, so that required and default are shown
 * @returns {HTMLElement}
 */
export function fieldList(fields, { asked }) {
  return element("dl", { class: "list" }, ...fields.flatMap((field) => row(field, asked)));
}

/**
 * @param {Field} field
 * @param {boolean} asked
 */
function row(field, asked) {
  const name = element("dt", {}, element("code", { text: field.name }));
  if (asked && field.required) {
    name.append(" ", element("span", { class: "mark must", text: "required" }));
  }
  const about = element("dd", {}, element("span", { class: "type", text: kind(field) }));
  if (asked && field.place !== "body") {
    about.append(element("span", { class: "type", text: ` in the ${field.place}` }));
  }
  if (field.description) {
    about.append(element("p", {}, ...withCode(field.description)));
  }
  about.append(...details(field, asked));
  return [name, about];
}

/** @param {Field} field */
function kind(field) {
  return field.choices ? field.choices.map((choice) => JSON.stringify(choice)).join(" | ") : field.type;
}

/**
 * @param {Field} field
 * @param {boolean} asked
 */
function details(field, asked) {
  const rules = Object.entries(LIMITS).filter(([name]) => name in field.schema).map(([name, words]) => `${words} ${field.schema[name]}`);
  const made = [];
  if (asked && field.initial !== null) {
    rules.unshift(`default ${JSON.stringify(field.initial)}`);
  }
  if (rules.length) {
    made.push(element("p", { class: "muted", text: rules.join(" · ") }));
  }
  if (field.inner.length) {
    made.push(element("details", {}, element("summary", { text: `${field.inner.length} fields` }), fieldList(field.inner, { asked })));
  }
  return made;
}
