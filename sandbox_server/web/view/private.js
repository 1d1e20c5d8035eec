// Private: only the person who drives sees the screen, and everybody else a cover.

import { person, say } from "./words.js";

/** @typedef {import("./lease.js").Control} Control */

export class Privacy {
  #was = false;

  /**
   * @param {{screen: HTMLElement, cover: HTMLElement}} parts
   * @param {import("./lease.js").Lease} lease
   * @param {(text: string) => void} tell
   */
  constructor(parts, lease, tell) {
    this.parts = parts;
    this.lease = lease;
    this.tell = tell;
  }

  /** @param {Control} control @param {string} kind what happened */
  show(control, kind) {
    const mine = control.private !== null && control.you.sees;
    const hidden = control.private !== null && !control.you.sees;
    document.body.dataset.private = mine ? "mine" : hidden ? "hidden" : "";
    this.parts.cover.hidden = !mine && !hidden;
    this.parts.cover.textContent = mine ? say("alone") : hidden ? say("hidden", { name: person(control.private ?? "") }) : "";
    if (mine && kind === "private:focus") this.tell(say("began"));
    if (mine && kind === "private:handoff") this.tell(say("beganHandoff"));
    if (this.#was && !mine && control.private === null && control.you.driving) this.tell(say("ended"));
    this.#was = mine;
  }

  /** Begin it, or end it. */
  async toggle() {
    await this.lease.do(this.lease.now?.private && this.lease.now.you.sees ? "public" : "private");
  }
}
