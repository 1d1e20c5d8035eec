// Builds elements. Text is never parsed as HTML, so nothing in a description or a response becomes part of the page.

/**
 * @param {string} name
 * @param {{class?: string, text?: string, [attribute: string]: string | undefined}} [attributes]
 * @param {(Node | string)[]} children
 * @returns {HTMLElement}
 */
export function element(name, { class: classes, text, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  if (classes) {
    made.className = classes;
  }
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) {
      made.setAttribute(attribute, value);
    }
  }
  made.append(...(text === undefined ? children : [text]));
  return made;
}

/**
 * A description as paragraphs, with code between backticks.
 * @param {string} text
 * @returns {HTMLElement[]}
 */
export function paragraphs(text) {
  const parts = text.split(/\n\s*\n/).filter((part) => part.trim());
  return parts.map((part) => element("p", {}, ...withCode(part)));
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function withCode(text) {
  return text.split("`").map((part, number) => (number % 2 ? element("code", { text: part }) : part));
}
