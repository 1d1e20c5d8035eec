// The links to the pages that who is signed in may open.

import { translate } from "./strings.js";

/** The pages in their order: the string's key, the address, and the scope that it needs. */
const PAGES = /** @type {const} */ ([
  ["home", "/", "view"],
  ["live", "/view", "view"],
  ["terminal", "/terminal", "shell"],
  ["files", "/files", "files"],
  ["recorder", "/recorder", "admin"],
  ["api", "/v1/docs", ""],
]);

/** @typedef {typeof PAGES[number][0]} PageName */

/**
 * @param {HTMLElement} place
 * @param {string} current the page that is shown
 * @param {string[]} scopes
 */
export function showNavigation(place, current, scopes) {
  const links = PAGES.filter(([, , scope]) => !scope || scopes.includes(scope)).map(([name, href]) => {
    const link = Object.assign(document.createElement("a"), { href, textContent: translate(name) });
    if (name === current) link.setAttribute("aria-current", "page");
    return link;
  });
  place.setAttribute("aria-label", translate("pages"));
  place.replaceChildren(...links);
}
