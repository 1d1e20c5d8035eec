// The page of an invitation: the guest says a name, and comes in. The ticket stands behind the address's `#`, so that what only looks at a
// link, such as a messenger's preview, does not use it up.

import { fill } from "/static/strings.js";
import { translate } from "./strings.js";

const NAME = "tandem-guest-name";
/** The longest name as it is sent. */
const MAX_QUOTED = 120;

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const given = new URLSearchParams(location.hash.slice(1));
const ticket = given.get("ticket") ?? "";
const input = /** @type {HTMLInputElement} */ (find("#name"));
const form = find("#join");

/** A name as the sandbox takes it; empty for one that it would not. @param {string} name */
function usable(name) {
  const clean = name.normalize("NFC").replace(/\s+/g, " ").trim();
  return /[\p{C}\p{Zl}\p{Zp}]/u.test(clean) || encodeURIComponent(clean).length > MAX_QUOTED ? "" : clean;
}

/** The name of the last time, which the browser keeps if it may. */
function remembered() {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} name */
function remember(name) {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    return; // it is asked again next time
  }
}

fill(document, translate);
document.title = `${translate("page")} · Tandem`;
const isWhole = /^tk-[\w-]{43}$/.test(ticket);
find("#broken").hidden = isWhole;
form.hidden = !isWhole;
input.value = given.get("name") ?? remembered();
input.readOnly = given.has("name");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const name = usable(input.value);
  find("#problem").hidden = name !== "";
  if (!name) return;
  if (!input.readOnly) remember(name);
  location.replace(`/view?${new URLSearchParams({ ticket, guest: name })}`);
});
