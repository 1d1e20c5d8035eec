// Elements, made in one expression. Text is always text: agents wrote much of it.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} [properties]
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** An element of the page. @template {HTMLElement} [Found=HTMLElement] @param {string} id @returns {Found} */
export const find = (id) => /** @type {Found} */ (document.getElementById(id));

/** Set a text, where it differs: what is read out is read out once. @param {HTMLElement} place @param {string} text */
export function say(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** Bring the children of a list into an order; what is in its place stays there, and keeps the focus. @param {Element} list @param {Element[]} wanted */
export function arrange(list, wanted) {
  const kept = new Set(wanted);
  for (const child of [...list.children]) if (!kept.has(child)) child.remove();
  const focused = document.activeElement;
  wanted.forEach((child, at) => {
    if (list.children[at] !== child) list.insertBefore(child, list.children[at] ?? null);
  });
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}
