// Keys for agents: make one, which is shown this once, and revoke those that are in force.

import { call } from "/static/api.js";
import { element, quiet, times } from "/static/home/elements.js";
import { left, translate } from "/static/home/folded_strings.js";

/** @typedef {{key_id: string, name: string, label: string, expires_at: number | null}} Key */

const DAY = 86400;

export class AgentKeys {
  /** The keys that this page made, which it still knows. @type {Map<string, string>} */
  #made = new Map();

  /**
   * @param {HTMLElement} place
   * @param {(key: string | null) => void} chosen a key to fill in, or null where it is gone
   */
  constructor(place, chosen) {
    this.chosen = chosen;
    this.said = element("p", { className: "said" });
    this.said.setAttribute("role", "status");
    this.list = element("ul", { className: "rows" });
    const within = times("ttl", [1, 7, 30].map((count) => [count * DAY, translate("days", { count })]), 7 * DAY);
    const form = element("form", { className: "line" }, element("button", { className: "button", textContent: translate("createKey") }), element("label", {}, `${translate("expiresIn")} `, within));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#create(Number(within.value)).catch((error) => this.#say(error.message));
    };
    place.append(form, this.said, this.list);
  }

  /** Load the keys that are in force. */
  async refresh() {
    /** @type {Key[]} */
    const keys = await call("GET", "/v1/keys");
    this.list.replaceChildren(...keys.map((key) => this.#row(key)));
  }

  /** @param {number} ttl */
  async #create(ttl) {
    const { key_id: id, key, expires_at: ends } = await call("POST", "/v1/keys", { body: { ttl } });
    this.#made.set(id, key);
    this.chosen(key);
    this.#say(translate("keyMade", { left: left(ends) }));
    await this.refresh();
  }

  /** @param {Key} key */
  #row({ key_id: id, name, label, expires_at: ends }) {
    const revoke = quiet(translate("revoke"), () => this.#revoke(id).catch((error) => this.#say(error.message)));
    revoke.setAttribute("aria-label", `${translate("revoke")}: ${name}`);
    return element("li", {}, element("code", { textContent: name }), element("small", { textContent: [label, ends === null ? translate("keyEndless") : left(ends)].filter(Boolean).join(" · ") }), revoke);
  }

  /** @param {string} id */
  async #revoke(id) {
    await call("DELETE", `/v1/keys/${id}`);
    if (this.#made.delete(id)) this.chosen([...this.#made.values()].at(-1) ?? null);
    this.#say(translate("keyRevoked"));
    await this.refresh();
  }

  /** @param {string} text */
  #say(text) {
    this.said.textContent = text;
  }
}
