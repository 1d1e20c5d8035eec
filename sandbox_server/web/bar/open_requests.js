// The agent's open requests in the bar: how many, and what the first one is about. A question of yes or no is answered in the bar, all else in
// the card that it opens.

import { isShort } from "/static/requests/handoff.js";
import { plainLine } from "/static/requests/plain_text.js";
import { person } from "/static/strings.js";
import { translate } from "./strings.js";

/** @typedef {import("../requests/handoff.js").Handoff} Handoff */
/** @typedef {import("./lease.js").Control} Control */

/** What a request is for, in one line. @param {Handoff["kind"]} kind */
export function asks(kind) {
  return translate("asksFor", { what: translate(kind) });
}

const MAX_TEXT = 300;
/** How long nothing can be answered that has just come under the pointer. */
const SETTLE_MS = 700;

export class OpenRequests {
  #first = "";
  /** What a request is about, in one line; an approval has a sentence once what answers requests is loaded. @param {Handoff} handoff */
  line = ({ kind, reason }) => `${asks(kind)}: ${plainLine(reason, MAX_TEXT)}`;

  /**
   * @param {{place: HTMLElement, count: HTMLElement, text: HTMLElement, claimed: HTMLElement, answer: HTMLElement, yes: HTMLButtonElement,
   *   no: HTMLButtonElement, panel: HTMLElement}} parts `panel` has the cards
   * @param {(handoff: Handoff, outcome: "done" | "cannot") => void} answer
   */
  constructor(parts, answer) {
    this.parts = parts;
    this.answer = answer;
    parts.answer.textContent = translate("answer");
  }

  /** @param {Handoff[]} open @param {Control["you"] | undefined} you */
  show(open, you) {
    const [first] = open;
    this.parts.place.hidden = !first;
    if (!first) return this.parts.panel.hidePopover();
    const { reason, claimed_by: claimed } = first;
    this.parts.count.textContent = String(open.length);
    this.parts.text.textContent = this.line(first);
    this.parts.text.title = plainLine(reason, MAX_TEXT);
    this.parts.claimed.textContent = !claimed ? "" : claimed === you?.name ? translate("claimedByYou") : translate("claimedBy", { name: person(claimed) });
    const may = you?.person === true && you.role !== "view";
    const inPlace = may && isShort(first) && (!claimed || claimed === you?.name);
    this.parts.answer.hidden = !may || (inPlace && open.length === 1);
    this.#showAnswers(first, inPlace);
  }

  /** @param {Handoff} first @param {boolean} inPlace */
  #showAnswers(first, inPlace) {
    const { place, yes, no } = this.parts;
    place.classList.toggle("whole", inPlace);
    for (const button of [yes, no]) button.hidden = !inPlace;
    yes.onclick = () => this.answer(first, "done");
    no.onclick = () => this.answer(first, "cannot");
    if (first.id === this.#first) return;
    this.#first = first.id;
    for (const button of [yes, no]) button.disabled = true;
    setTimeout(() => {
      for (const button of [yes, no]) button.disabled = false;
    }, SETTLE_MS);
  }
}
