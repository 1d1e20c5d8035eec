// The viewers and their roles. An admin can sign one out; a person who may control can invite another by a link.

import { call } from "/static/api.js";
import { person, translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */

/** The scopes of an invitation by role. */
const SCOPES = { view: ["view"], control: ["view", "control"] };

export class ViewerList {
  #shown = "";

  /**
   * @param {{list: HTMLElement, form: HTMLFormElement, link: HTMLInputElement, copy: HTMLButtonElement}} parts
   * @param {(error: Error) => void} failed
   */
  constructor({ list, form, link, copy }, failed) {
    this.list = list;
    this.form = form;
    this.link = link;
    this.failed = failed;
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#invite().catch(failed);
    };
    copy.onclick = async () => {
      link.select();
      await navigator.clipboard?.writeText(link.value).catch(() => {});
    };
  }

  /** @param {Control} control */
  show({ viewers, you, holder }) {
    this.form.hidden = you.role === "view" || !you.person;
    const now = JSON.stringify([viewers, you.role, holder]);
    if (now === this.#shown) return; // a redraw would take the focus
    this.#shown = now;
    this.list.replaceChildren(...viewers.map((viewer) => this.#item(viewer, you.role === "admin", viewer.name === holder)));
  }

  /** @param {Control["viewers"][0]} viewer @param {boolean} mayEnd @param {boolean} drives */
  #item({ name, role, you }, mayEnd, drives) {
    const item = document.createElement("li");
    const who = document.createElement("span");
    who.textContent = you ? translate("me", { name: person(name) }) : person(name);
    const what = document.createElement("span");
    what.className = "muted";
    what.textContent = [translate(/** @type {"roleView"} */ (`role${role[0].toUpperCase()}${role.slice(1)}`)), drives && translate("drives")].filter(Boolean).join(" · ");
    item.append(who, what);
    if (mayEnd && !you && name.includes("#")) item.append(this.#button(name));
    return item;
  }

  /** @param {string} name */
  #button(name) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button quiet danger";
    button.textContent = translate("disconnect");
    button.setAttribute("aria-label", `${translate("disconnect")}: ${person(name)}`);
    button.onclick = () => call("DELETE", `/v1/sessions/${encodeURIComponent(name)}`).catch(this.failed);
    return button;
  }

  async #invite() {
    const wish = new FormData(this.form);
    const role = /** @type {"view" | "control"} */ (wish.get("role"));
    const body = { actor: "person", scopes: SCOPES[role], ttl: Number(wish.get("minutes")) * 60, uses: Number(wish.get("uses")) };
    const { ticket } = await call("POST", "/tickets", { body, whole: true });
    this.link.value = `${location.origin}/view?ticket=${ticket}`;
    /** @type {HTMLElement} */ (this.link.parentElement).hidden = false;
    this.link.select();
  }
}
