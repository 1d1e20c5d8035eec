// The language and the theme of the pages, and the buttons that choose them.

import { chooseLanguage, language } from "/static/strings.js";
import { translate } from "./strings.js";

const THEMES = /** @type {const} */ (["auto", "light", "dark"]);
const ICONS = { auto: "◐", light: "☀", dark: "☾" };

/** @param {HTMLElement} place gets the buttons */
export function showPreferences(place) {
  place.append(languageButton(), themeButton());
}

function languageButton() {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet", textContent: translate("language") });
  button.dataset.chooses = "language";
  button.lang = language === "zh" ? "en" : "zh";
  button.title = translate("languageTitle");
  button.onclick = () => chooseLanguage(language === "zh" ? "en" : "zh");
  return button;
}

function themeButton() {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet" });
  button.dataset.chooses = "theme";
  const draw = () => {
    button.textContent = ICONS[theme()];
    button.title = translate("theme", { theme: translate(theme()) });
    button.setAttribute("aria-label", button.title);
  };
  button.onclick = () => {
    const chosen = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
    localStorage.setItem("theme", chosen);
    document.documentElement.dataset.theme = chosen;
    draw();
  };
  addEventListener("storage", ({ key, newValue }) => {
    if (key !== "theme") return;
    document.documentElement.dataset.theme = newValue ?? "auto"; // chosen on another page
    draw();
  });
  draw();
  return button;
}

/** @returns {typeof THEMES[number]} */
function theme() {
  const set = /** @type {any} */ (document.documentElement.dataset.theme);
  return THEMES.includes(set) ? set : "auto";
}
