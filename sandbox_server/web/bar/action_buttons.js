// Shows a list of actions as buttons. One that stays keeps its place and the focus.

/** @typedef {{id: string, text: string, quiet?: boolean, danger?: boolean, act: () => Promise<void>}} Action */

/**
 * @param {HTMLElement} place
 * @param {Action[]} actions
 * @param {(action: Action) => void} run
 */
export function showButtons(place, actions, run) {
  const shown = new Map([...place.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.id, element]));
  const wanted = actions.map((action) => {
    const button = /** @type {HTMLButtonElement} */ (shown.get(action.id) ?? document.createElement("button"));
    button.dataset.id = action.id;
    button.className = `button${action.quiet ? " quiet" : ""}${action.danger ? " danger" : ""}`;
    if (button.textContent !== action.text) button.textContent = action.text;
    button.onclick = () => run(action);
    return button;
  });
  if (wanted.length === shown.size && wanted.every((button, index) => place.children[index] === button)) return;
  const focused = place.contains(document.activeElement);
  place.replaceChildren(...wanted);
  if (focused && !place.contains(document.activeElement)) wanted[0]?.focus();
}
