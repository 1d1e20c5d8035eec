// Private mode: only the person who drives sees the screen; everybody else sees a cover.

import { person } from "/static/strings.js";
import { translate } from "./strings.js";

/** @typedef {import("/static/bar/lease.js").Control} Control */

export class PrivateMode {
  #was = false;

  /**
   * @param {{banner: HTMLElement, cover: HTMLElement}} parts `banner`: for who is private; `cover`: over the screen, for everybody else
   * @param {(text: string) => void} notify
   */
  constructor(parts, notify) {
    this.parts = parts;
    this.notify = notify;
  }

  /** @param {Control} control @param {string} kind what happened */
  show(control, kind) {
    const mine = control.private !== null && control.you.sees;
    const hidden = control.private !== null && !control.you.sees;
    document.body.dataset.private = mine ? "mine" : hidden ? "hidden" : "";
    this.parts.banner.hidden = !mine;
    this.parts.banner.textContent = mine ? translate("alone") : "";
    this.parts.cover.hidden = !hidden;
    this.parts.cover.textContent = hidden ? translate("hidden", { name: person(control.private ?? "") }) : "";
    if (mine && kind === "private:focus") this.notify(translate("began"));
    if (mine && kind === "private:handoff") this.notify(translate("beganHandoff"));
    if (this.#was && !mine && control.private === null && control.you.driving) this.notify(translate("ended"));
    this.#was = mine;
  }
}
