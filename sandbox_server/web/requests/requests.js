// <tandem-requests>: what the agent asks of people, answerable in place. It follows the bar of its page. With the attribute `stay`, who takes a
// request on stays on the page; otherwise the live page opens, unless this one shows the screen.

import { asks } from "/static/bar/open_requests.js";
import { alertPerson } from "./alert_person.js";
import { approvalText } from "./approval.js";
import { ApprovalCard } from "./approval_card.js";
import { isApproval } from "./handoff.js";
import { plainLine } from "./plain_text.js";
import { RequestCard } from "./request_card.js";
import { translate } from "./strings.js";
import { loadStyle } from "/static/style_sheet.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("./request_actions.js").RequestActions} RequestActions */
/** @typedef {import("../bar/bar.js").TandemBar} TandemBar */

/** How long nothing can be answered that has just moved under the pointer. */
const SETTLE_MS = 700;
/** The bar brings the cards to every page, and they their style. */
const STYLE = "/static/requests/requests.css";
const MAX_LINE = 300;

/** What a request is about, in one line. @param {Handoff} handoff */
export const lineOf = (handoff) => (isApproval(handoff) ? plainLine(approvalText(handoff), MAX_LINE) : `${asks(handoff.kind)}: ${plainLine(handoff.reason, MAX_LINE)}`);

export class RequestList extends HTMLElement {
  /** @type {Map<string, RequestCard | ApprovalCard>} */
  #cards = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #settling;
  /** @type {TandemBar | undefined} */
  bar;
  handle = Object.assign(document.createElement("button"), { type: "button", className: "handle" });
  place = Object.assign(document.createElement("div"), { className: "cards" });

  connectedCallback() {
    if (this.childElementCount) return;
    loadStyle(STYLE);
    const bar = /** @type {TandemBar} */ (this.closest("tandem-bar") ?? document.querySelector("tandem-bar"));
    this.bar = bar;
    this.setAttribute("role", "region");
    this.setAttribute("aria-live", "polite");
    this.setAttribute("aria-label", translate("requests"));
    this.handle.onclick = () => this.#fold(!this.hasAttribute("data-folded"));
    this.append(this.handle, this.place);
    this.hidden = true;
    for (const event of ["handoffs", "control"]) bar.addEventListener(event, () => this.#update(bar));
    this.#update(bar);
  }

  /** Whether it belongs to the page, not to the bar. */
  get isOfPage() {
    return !this.closest("tandem-bar");
  }

  /** Whether it is the bar's, and the page has one of its own. */
  #isSpare() {
    return !this.isOfPage && document.querySelector("main tandem-requests") !== null;
  }

  /** @param {TandemBar} bar */
  #update({ handoffs = [], requests }) {
    if (!requests || this.#isSpare()) return; // a bar that is not there yet tells when it is
    const added = handoffs.filter(({ id }) => !this.#cards.has(id));
    const gone = [...this.#cards.keys()].filter((id) => !handoffs.some((each) => each.id === id));
    for (const id of gone) this.#remove(id, requests);
    for (const handoff of handoffs) this.#cards.get(handoff.id)?.show(handoff);
    for (const handoff of added) this.#add(handoff, requests);
    if (added.length || gone.length) this.#changed();
    const asked = added.find((handoff) => this.isOfPage || isApproval(handoff)); // approvals wait for seconds: every page tells of them
    if (asked) alertPerson(asked);
    if (added.some(isApproval)) this.#open();
  }

  /** @param {Handoff} handoff @param {RequestActions} requests */
  #add(handoff, requests) {
    const card = isApproval(handoff) ? new ApprovalCard(handoff, requests) : new RequestCard(handoff, requests, () => this.#taken());
    this.#cards.set(handoff.id, card);
    this.place.append(card.element);
    this.#fold(false);
  }

  /** @param {string} id @param {RequestActions} requests */
  #remove(id, requests) {
    const card = /** @type {RequestCard | ApprovalCard} */ (this.#cards.get(id));
    this.#cards.delete(id);
    if (card.begun) requests.explainGone(id);
    card.element.remove();
  }

  /** Open what the bar has the cards in, unless somebody is in a dialog or another page has the bar. */
  #open() {
    const panel = /** @type {HTMLElement | null} */ (this.closest("[popover]"));
    if (!panel || document.querySelector("dialog[open]") || document.documentElement.classList.contains("framed")) return;
    panel.togglePopover(true); // it may be open
  }

  #changed() {
    this.hidden = !this.#cards.size;
    this.#fold(this.hasAttribute("data-folded"));
    this.#settle(true);
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#settle(false), SETTLE_MS);
  }

  /** @param {boolean} settling */
  #settle(settling) {
    for (const card of this.#cards.values()) card.settle(settling);
  }

  /** On a phone the list is a sheet, which can be folded away from the picture. @param {boolean} folded */
  #fold(folded) {
    this.toggleAttribute("data-folded", folded);
    this.handle.setAttribute("aria-expanded", String(!folded));
    this.handle.textContent = folded ? translate("expand", { count: this.#cards.size }) : translate("collapse");
  }

  #taken() {
    if (!this.hasAttribute("stay") && !this.bar?.hasAttribute("screen")) location.assign("/view");
  }
}

customElements.define("tandem-requests", RequestList);
