// The keys of the page. None of them is taken from a field that one writes in, or from a browser's own shortcut.

/** @typedef {Record<string, () => void>} Keys by the key in lower case */

/** @param {Keys} keys */
export function listen(keys) {
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isField(event.target) || !Object.hasOwn(keys, key)) return;
    if (key === "enter" && event.target instanceof HTMLButtonElement) return; // it is the button's
    event.preventDefault();
    keys[key]();
  });
}

/** @param {EventTarget | null} target */
function isField(target) {
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
