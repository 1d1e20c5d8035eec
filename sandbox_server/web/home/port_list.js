// The ports that the agent's programs listen on: each opens as a page, and can be shared by a link.

import { element, quiet } from "/static/home/elements.js";
import { translate } from "/static/home/strings.js";

/** @typedef {{port: number, process: {command: string} | null, url: string}} Port */

export class PortList {
  /** @type {Map<number, HTMLElement>} */
  #rows = new Map();

  /**
   * @param {HTMLElement} list
   * @param {() => void} shared when there is a new link
   */
  constructor(list, shared) {
    this.list = list;
    this.shared = shared;
  }

  /** Show what is open now. A row that stays is kept, with what is open in it. @param {Port[]} ports */
  show(ports) {
    const before = this.#rows;
    this.#rows = new Map(ports.map((each) => [each.port, before.get(each.port) ?? this.#row(each.port)]));
    for (const { port, process } of ports) {
      const program = /** @type {HTMLElement} */ (this.#rows.get(port)?.querySelector("small"));
      program.textContent = program.title = process?.command ?? "";
    }
    const wanted = this.#rows.size ? [...this.#rows.values()] : [element("li", { className: "muted", textContent: translate("noPorts") })];
    if (wanted.length !== this.list.children.length || wanted.some((row, at) => row !== this.list.children[at])) this.list.replaceChildren(...wanted);
  }

  /** Take away the text of a link that was revoked. @param {string} id */
  forget(id) {
    this.list.querySelector(`[data-share="${CSS.escape(id)}"]`)?.remove();
  }

  /** @param {number} port */
  #row(port) {
    const link = element("a", { href: `/proxy/${port}/`, target: "_blank", rel: "noopener", textContent: `${port}` });
    const share = quiet(translate("share"), async () => (await import("/static/home/share_form.js")).toggleShareForm(row, port, this.shared));
    share.setAttribute("aria-label", translate("sharePort", { port }));
    const row = element("li", {}, link, element("small"), share);
    return row;
  }
}
