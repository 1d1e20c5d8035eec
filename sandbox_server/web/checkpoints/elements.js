// Elements of the checkpoints' panel. What an agent wrote is text in them, never markup.

/** @param {string} tag @param {string} [look] the class @param {string} [text] @returns {HTMLElement} */
export function element(tag, look = "", text = "") {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text) made.textContent = text;
  return made;
}

/** @param {string} text @param {() => void} act @param {string} [look] @returns {HTMLButtonElement} */
export function button(text, act, look = "quiet small") {
  const made = /** @type {HTMLButtonElement} */ (element("button", `button ${look}`, text));
  made.type = "button";
  made.onclick = act;
  return made;
}

/** A name that the agent chose: it turns no text around it, and is cut where there is no room. @param {string} text @param {string} [whole] the tooltip */
export function name(text, whole = text) {
  const made = element("bdi", "name", text);
  made.title = whole;
  return made;
}
