// <tandem-signed-out-bar>: the bar of pages for whom nobody is signed in: the product, the language, the theme and the shortcuts.

import { brand } from "./markup.js";
import { showPreferences } from "./preferences.js";
import { Shortcuts } from "./shortcuts.js";

export class SignedOutBar extends HTMLElement {
  connectedCallback() {
    if (this.childElementCount) return;
    this.setAttribute("role", "banner");
    this.innerHTML = `${brand()}<div id="preferences"></div>`;
    const preferences = /** @type {HTMLElement} */ (this.querySelector("#preferences"));
    showPreferences(preferences);
    const shortcuts = new Shortcuts({ page: "", signedIn: false, screen: false });
    shortcuts.listen();
    preferences.append(shortcuts.button());
  }
}

customElements.define("tandem-signed-out-bar", SignedOutBar);
