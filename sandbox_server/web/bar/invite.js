// The dialog "Invite": a link that lets another person in, to watch or to control, and the invitations that are open.

import { call } from "/static/api.js";
import { language, person } from "/static/strings.js";
import { translate } from "./strings.js";

/**
 * @typedef {object} Invitation
 * @property {string} id
 * @property {"watch" | "control"} access
 * @property {string | null} name
 * @property {string} made_by
 * @property {number} expires_at
 * @property {number} uses
 * @property {number} left
 */

export class InviteDialog {
  /**
   * @param {{dialog: HTMLDialogElement, form: HTMLFormElement, made: HTMLElement, link: HTMLInputElement, copy: HTMLElement, told: HTMLElement,
   *   open: HTMLElement, list: HTMLElement, close: HTMLElement}} parts
   */
  constructor(parts) {
    this.parts = parts;
    parts.form.onsubmit = (event) => {
      event.preventDefault();
      this.#run(() => this.#invite());
    };
    parts.copy.onclick = () => this.#copy();
    parts.close.onclick = () => parts.dialog.close();
  }

  /** Show the dialog, with the invitations as they are now. */
  async show() {
    this.parts.made.hidden = true;
    this.parts.told.textContent = "";
    this.parts.dialog.showModal();
    await this.#run(() => this.#list());
  }

  async #invite() {
    const wish = new FormData(this.parts.form);
    const name = String(wish.get("name") ?? "").trim();
    const body = { access: wish.get("access"), expires_in: Number(wish.get("minutes")) * 60, uses: Number(wish.get("uses")), ...(name && { name }) };
    const { ticket } = await call("POST", "/v1/invitations", { body });
    this.parts.link.value = `${location.origin}/join#${new URLSearchParams({ ticket, ...(name && { name }) })}`;
    this.parts.made.hidden = false;
    await this.#copy();
    await this.#list();
  }

  /** Copy the link, where the browser lets a page do that; it is selected, to be copied by hand. */
  async #copy() {
    this.parts.link.select();
    const copied = await globalThis.navigator?.clipboard?.writeText(this.parts.link.value).then(
      () => true,
      () => false,
    );
    this.parts.told.textContent = translate(copied ? "linkCopied" : "copyByHand");
  }

  async #list() {
    /** @type {Invitation[]} */
    const open = await call("GET", "/v1/invitations");
    this.parts.open.hidden = !open.length;
    this.parts.list.replaceChildren(...open.map((each) => this.#item(each)));
  }

  /** @param {Invitation} invitation */
  #item({ id, access, name, made_by: maker, expires_at: expires, uses, left }) {
    const item = document.createElement("li");
    const who = Object.assign(document.createElement("span"), { textContent: name ?? translate("anyGuest"), title: translate("invitedBy", { name: person(maker) }) });
    const time = new Date(expires * 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
    const what = Object.assign(document.createElement("span"), { className: "muted" });
    what.textContent = [translate(access === "control" ? "roleControl" : "roleView"), translate("usesLeft", { left, uses }), translate("until", { time })].join(" · ");
    const revoke = Object.assign(document.createElement("button"), { type: "button", className: "button quiet danger", textContent: translate("revoke") });
    revoke.setAttribute("aria-label", `${translate("revoke")}: ${who.textContent}`);
    revoke.onclick = () => this.#run(() => this.#revoke(id));
    item.append(who, what, revoke);
    return item;
  }

  /** @param {string} id */
  async #revoke(id) {
    await call("DELETE", `/v1/invitations/${id}`);
    this.parts.made.hidden = true;
    this.parts.told.textContent = translate("revoked");
    await this.#list();
  }

  /** Do something, and tell in the dialog if it fails. @param {() => Promise<void>} act */
  async #run(act) {
    try {
      await act();
    } catch (error) {
      this.parts.told.textContent = translate("failed", { reason: /** @type {Error} */ (error).message });
    }
  }
}
