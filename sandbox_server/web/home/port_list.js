// The ports that the agent's programs listen on: each opens as a page, and can be shared by a link.

import { call } from "/static/api.js";

const SHARED_SECONDS = 3600;
const FORBIDDEN = 403;

/** @typedef {{port: number, process: {command: string} | null, url: string}} Port */

export class PortList {
  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = list;
    this.shown = "";
  }

  /** Load them now and whenever the page gets the focus. Polling would keep the agent's box from ever being idle. */
  watch() {
    this.#refresh();
    addEventListener("focus", () => this.#refresh());
  }

  async #refresh() {
    try {
      const { ports } = await call("GET", "/v1/ports");
      if (JSON.stringify(ports) !== this.shown) this.#show(ports);
      this.shown = JSON.stringify(ports);
    } catch (error) {
      const refused = /** @type {{status?: number}} */ (error).status === FORBIDDEN;
      this.list.replaceChildren(item(refused ? "You may not see these" : "Not answering"));
    }
  }

  /** @param {Port[]} ports */
  #show(ports) {
    const rows = ports.map((port) => this.#row(port));
    this.list.replaceChildren(...(rows.length ? rows : [item("Nothing listens")]));
  }

  /** @param {Port} port */
  #row({ port, process }) {
    const row = item("");
    const link = Object.assign(document.createElement("a"), { href: `/proxy/${port}/`, target: "_blank", rel: "noopener", textContent: `${port}` });
    const share = Object.assign(document.createElement("button"), { className: "button quiet small", textContent: "Share" });
    share.title = "Copy a link that shows this port to anybody for an hour";
    share.addEventListener("click", () => this.#share(row, share, port));
    row.append(link, share);
    if (process) row.append(Object.assign(document.createElement("small"), { textContent: process.command, title: process.command }));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {HTMLButtonElement} button
   * @param {number} port
   */
  async #share(row, button, port) {
    try {
      const { url } = await call("POST", `/v1/ports/${port}/share`, { body: { ttl: SHARED_SECONDS } });
      row.querySelector("code")?.remove();
      row.append(Object.assign(document.createElement("code"), { textContent: url }));
      await navigator.clipboard?.writeText(url);
      button.textContent = navigator.clipboard ? "Copied" : "Shared";
    } catch (error) {
      button.textContent = /** @type {Error} */ (error).message;
    }
  }
}

/** @param {string} text */
function item(text) {
  return Object.assign(document.createElement("li"), { textContent: text });
}
