// The links to ports that are in force: what each opens, until when, and Revoke.

import { call } from "/static/api.js";
import { element, quiet } from "/static/home/elements.js";
import { left, translate } from "/static/home/folded_strings.js";
import { person } from "/static/strings.js";

/** @typedef {{share_id: string, port: number, expires_at: number, created_by: string, note: string}} Share */

const AGAIN_MS = 20000;

export class ShareList {
  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} part what is hidden while there is none
   * @param {(id: string) => void} revoked
   */
  constructor(list, part, revoked) {
    this.list = list;
    this.part = part;
    this.revoked = revoked;
  }

  /** Show them, and again later while the page is visible. @param {Share[]} shares */
  watch(shares) {
    this.show(shares);
    setInterval(() => document.hidden || this.refresh().catch(() => {}), AGAIN_MS);
  }

  async refresh() {
    this.show(await call("GET", "/v1/ports/shares"));
  }

  /** @param {Share[]} shares */
  show(shares) {
    this.part.hidden = !shares.length;
    const focused = document.activeElement?.closest("li")?.dataset.id;
    this.list.replaceChildren(...shares.map((share) => this.#row(share)));
    if (focused) /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-id="${focused}"] button`))?.focus();
  }

  /** @param {Share} share */
  #row({ share_id: id, port, expires_at: ends, created_by: by, note }) {
    const revoke = quiet(translate("revoke"), () => this.#revoke(id, revoke));
    revoke.setAttribute("aria-label", translate("revokePort", { port }));
    const about = [left(ends), translate("madeBy", { name: person(by) }), note].filter(Boolean).join(" · ");
    const row = element("li", {}, element("span", { textContent: translate("portName", { port }) }), element("small", { textContent: about }), revoke);
    row.dataset.id = id;
    return row;
  }

  /** @param {string} id @param {HTMLButtonElement} button */
  async #revoke(id, button) {
    try {
      await call("DELETE", `/v1/ports/shares/${id}`);
      this.revoked(id);
      await this.refresh();
    } catch (error) {
      button.textContent = /** @type {Error} */ (error).message;
    }
  }
}
