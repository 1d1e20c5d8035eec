// The keyboard's way to the screen: Tab comes to it and leaves it, and only Enter has the keys act there. A click acts at once.

/** The rule for the hint, which comes after the screen: it is seen while Tab has brought the focus there. */
export const HINT_STYLE = `
  .focus-hint { position: absolute; left: 50%; bottom: .75rem; z-index: 1; display: none; max-width: calc(100% - 2rem); margin: 0; padding: .45rem .9rem; transform: translateX(-50%); border-radius: 8px; background: #000d; color: #fff; font: 600 .9rem/1.4 system-ui; text-align: center; pointer-events: none }
  .tab-stop:focus-visible { outline: 3px solid #52c7a6; outline-offset: -3px }
  .tab-stop:focus-visible ~ .focus-hint:not([hidden]) { display: block }
`;

/**
 * Make the screen a stop of Tab, which hands the keys on at Enter.
 * @param {HTMLElement} screen
 * @param {() => boolean} enter moves the focus to what takes the keys; false where nothing does
 */
export function focusByEnter(screen, enter) {
  screen.tabIndex = 0;
  screen.classList.add("tab-stop");
  screen.setAttribute("role", "application");
  screen.addEventListener("mousedown", (event) => event.preventDefault()); // it takes no focus from what takes the keys
  screen.addEventListener("keydown", (event) => {
    if (event.target !== screen || event.key !== "Enter" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (enter()) event.preventDefault();
  });
}

/** The hint's element. @param {string} text */
export function focusHint(text) {
  return Object.assign(document.createElement("p"), { className: "focus-hint", textContent: text });
}

/**
 * Make a screen on the page such a stop, with its hint.
 * @param {HTMLElement} screen
 * @param {{label: string, hint: string}} says
 * @param {() => void} enter
 */
export function addFocusByEnter(screen, { label, hint }, enter) {
  const style = Object.assign(document.createElement("style"), { textContent: HINT_STYLE });
  screen.after(focusHint(hint));
  screen.after(style);
  screen.setAttribute("aria-label", label);
  focusByEnter(screen, () => (enter(), true));
}
