// The viewers and their roles. An admin can sign one out.

import { call } from "/static/api.js";
import { person } from "/static/strings.js";
import { translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */

/** Whether who is signed in may invite others. @param {Control["you"]} you */
export function mayInvite(you) {
  return you.person && you.role !== "view";
}

export class ViewerList {
  #shown = "";

  /** @param {HTMLElement} list @param {(error: Error) => void} failed */
  constructor(list, failed) {
    this.list = list;
    this.failed = failed;
  }

  /** @param {Control} control */
  show({ viewers, you, holder }) {
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
}
