// Private mode: only the person who drives sees the screen; everybody else sees a cover.

import { person, translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */

export class PrivateMode {
  #was = false;

  /**
   * @param {{screen: HTMLElement, cover: HTMLElement}} parts
   * @param {import("./lease.js").Lease} lease
   * @param {(text: string) => void} notify
   */
  constructor(parts, lease, notify) {
    this.parts = parts;
    this.lease = lease;
    this.notify = notify;
  }

  /** @param {Control} control @param {string} kind what happened */
  show(control, kind) {
    const mine = control.private !== null && control.you.sees;
    const hidden = control.private !== null && !control.you.sees;
    document.body.dataset.private = mine ? "mine" : hidden ? "hidden" : "";
    this.parts.cover.hidden = !mine && !hidden;
    this.parts.cover.textContent = mine ? translate("alone") : hidden ? translate("hidden", { name: person(control.private ?? "") }) : "";
    if (mine && kind === "private:focus") this.notify(translate("began"));
    if (mine && kind === "private:handoff") this.notify(translate("beganHandoff"));
    if (this.#was && !mine && control.private === null && control.you.driving) this.notify(translate("ended"));
    this.#was = mine;
  }

  /** Turn it on, or off. */
  async toggle() {
    await this.lease.do(this.lease.now?.private && this.lease.now.you.sees ? "public" : "private");
  }
}
