// Elements with text: nothing that a record holds becomes markup.

/** @param {string} tag @param {string} [look] the class @param {string} [text] @returns {HTMLElement} */
export function element(tag, look = "", text = "") {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text) made.textContent = text;
  return made;
}

/** A sentence's pieces, code as such. @param {import("./strings.js").Segment[]} segments @returns {(HTMLElement | string)[]} */
export const pieces = (segments) => segments.map(({ text, code }) => (code ? element("code", "", text) : text));
