// Elements of the home page, made in one expression. Text is always text: programs wrote much of it.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  if (children.length) made.append(...children);
  return made;
}

/** A button that is not the main one. @param {string} textContent @param {() => unknown} onclick */
export const quiet = (textContent, onclick) => element("button", { type: "button", className: "button quiet small", textContent, onclick });

/** A choice of a time, in seconds. @param {string} name @param {[number, string][]} choices @param {number} chosen */
export function times(name, choices, chosen) {
  const select = element("select", { name }, ...choices.map(([seconds, text]) => element("option", { value: String(seconds), textContent: text })));
  select.value = String(chosen);
  return select;
}

/** Copy a field's text; on plain http, where browsers have no clipboard, select it. @param {HTMLInputElement} field @returns {Promise<boolean>} */
export async function copyOf(field) {
  field.select();
  if (!navigator.clipboard) return false;
  return navigator.clipboard.writeText(field.value).then(() => true, () => false);
}
