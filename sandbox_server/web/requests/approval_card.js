// The card of an approval: something waits until a person allows or denies it, and is denied when nobody does in time.

import { asks } from "/static/bar/open_requests.js";
import { answerLabel, approvalDetails, approvalSentence, coversOf, isCut, reasonOf, ruleOf, timeOf } from "./approval.js";
import { plainText } from "./plain_text.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("./request_actions.js").RequestActions} RequestActions */
/** @typedef {import("./handoff.js").Decision} Decision */

/** Those that have a button. */
const DECISIONS = ["once", "task", "always", "deny"];
const TICK_MS = 250;
const MAX_WORDS = 1000;
let made = 0;

export class ApprovalCard {
  #busy = false;
  #settling = false;
  /** @type {HTMLButtonElement[]} */
  #buttons = [];
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #ticking;
  element = element("section", "card request approval");
  left = element("p", "muted left");
  bar = element("span", "time-left");
  state = element("p", "muted claimed");
  tools = element("div", "tools");
  written = element("div", "written");

  /** @param {Handoff} handoff @param {RequestActions} actions */
  constructor(handoff, actions) {
    this.handoff = handoff;
    this.actions = actions;
    this.ends = endOf(handoff);
    this.#build();
    this.show(handoff);
    this.#tick();
    this.#ticking = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Everybody who saw it is told what became of it. */
  begun = true;

  /** @param {Handoff} handoff as it is now */
  show(handoff) {
    this.handoff = handoff;
    const may = this.actions.you !== undefined;
    this.tools.hidden = !may || !this.written.hidden;
    this.written.hidden ||= !may;
    this.state.textContent = may ? "" : translate("noRights");
  }

  /** Let nobody answer for a moment what has just come under their pointer. @param {boolean} settling */
  settle(settling) {
    this.#settling = settling;
    this.#enable();
  }

  #build() {
    const title = element("h2", "", asks("approve"));
    title.id = `approval-title-${++made}`;
    this.element.toggleAttribute("data-cut", isCut(this.handoff)); // the details stand before the buttons, then
    const sentence = element("p", "reason");
    sentence.id = `approval-sentence-${made}`;
    this.element.setAttribute("aria-labelledby", `${title.id} ${sentence.id}`); // there may be several
    sentence.append(...approvalSentence(this.handoff).map(({ text, code }) => (code ? theirs("code", text) : text)));
    this.left.setAttribute("role", "timer");
    this.left.setAttribute("aria-live", "off"); // the seconds are not read aloud
    this.bar.setAttribute("aria-hidden", "true");
    this.element.append(title, sentence, this.#details(), ...this.#words(), this.#effects(), this.bar, this.left, this.state, this.#decisions(), this.#rule());
  }

  #details() {
    const list = element("dl", "facts");
    for (const [name, value] of approvalDetails(this.handoff)) {
      list.append(element("dt", "", name), theirs("dd", value));
    }
    return list;
  }

  /** Why the agent wants it, where it says so. @returns {HTMLElement[]} */
  #words() {
    const said = plainText(reasonOf(this.handoff), MAX_WORDS);
    return said ? [element("p", "muted words-title", translate("agentSays")), Object.assign(element("p", "theirs words", said), { dir: "auto", tabIndex: 0 })] : [];
  }

  /** What the answers allow that hold for more than what waits, by their buttons. */
  #effects() {
    const list = element("dl", "facts effects");
    for (const decision of this.#answers()) {
      const effect = this.handoff.approval?.effects?.[decision];
      const covers = coversOf(this.handoff, decision);
      if (!effect || effect.rule || covers === translate("coversThis")) continue;
      list.append(element("dt", "", answerLabel(this.handoff, decision)), Object.assign(element("dd", "", covers), { dir: "auto" }));
    }
    return list;
  }

  #answers() {
    return (this.handoff.approval?.answers ?? []).filter((decision) => DECISIONS.includes(decision));
  }

  /** The rule that `always` writes, which is saved only once it was seen. */
  #rule() {
    this.written.hidden = true;
    const rule = ruleOf(this.handoff, "always");
    if (!rule) return this.written;
    const save = this.#button("main", translate("saveRule"), () => this.#decide("always"));
    const back = this.#button("quiet", translate("back"), () => this.#showRule(false));
    const tools = element("div", "tools");
    tools.append(save, back);
    this.written.append(element("p", "muted", translate("writesRule")), Object.assign(theirs("pre", rule), { tabIndex: 0 }), tools);
    return this.written;
  }

  /** @param {boolean} shown */
  #showRule(shown) {
    this.written.hidden = !shown;
    this.tools.hidden = shown;
    (shown ? this.written : this.tools).querySelector("button")?.focus();
  }

  /** @param {"main" | "quiet"} look @param {string} text @param {() => void} act */
  #button(look, text, act) {
    const button = /** @type {HTMLButtonElement} */ (element("button", `button ${look}`, text));
    button.type = "button";
    button.onclick = act;
    this.#buttons.push(button);
    return button;
  }

  #decisions() {
    for (const decision of this.#answers()) {
      const shows = decision === "always" && ruleOf(this.handoff, decision);
      const act = shows ? () => this.#showRule(true) : () => void this.#decide(decision);
      const button = this.#button(decision === "once" ? "main" : "quiet", answerLabel(this.handoff, decision), act);
      button.title = shows ? translate("alwaysAbout") : decision === "deny" ? translate("denyAbout") : coversOf(this.handoff, decision);
      this.tools.append(button);
    }
    return this.tools;
  }

  #tick() {
    if (this.#ticking !== undefined && !this.element.isConnected) return clearInterval(this.#ticking);
    const ms = this.ends.at - performance.now();
    const allows = this.handoff.on_timeout === "allow";
    this.left.textContent = ms > 0 ? translate(allows ? "allowedIn" : "deniedIn", { time: timeOf(Math.ceil(ms / 1000)) }) : translate(allows ? "allowedLate" : "deniedLate");
    this.bar.style.width = `${Math.max(0, Math.min(100, (100 * ms) / this.ends.ms))}%`;
    if (ms <= 0) this.#enable();
  }

  /** @param {Decision} decision */
  async #decide(decision) {
    if (this.#busy) return;
    this.#busy = true;
    this.#enable();
    await this.actions.decide(this.handoff, decision);
    this.#busy = false;
    this.#enable();
  }

  #enable() {
    const late = this.ends.at <= performance.now();
    for (const button of this.#buttons) button.disabled = this.#busy || this.#settling || late;
  }
}

/** When it ends by this page's clock. Where that clock cannot be right, it has just begun. @param {Handoff} handoff */
export function endOf({ created_at: created = 0, deadline_at: deadline }) {
  const ms = created ? 1000 * (deadline - created) : 30_000;
  const left = 1000 * deadline - Date.now();
  return { ms, at: performance.now() + (left > -1000 && left <= ms ? left : ms) };
}

/** @param {string} tag @param {string} [look] @param {string} [text] */
function element(tag, look = "", text = "") {
  return Object.assign(document.createElement(tag), { className: look, textContent: text });
}

/** What a program wrote, in the order in which it is written. @param {string} tag @param {string} text */
const theirs = (tag, text) => Object.assign(element(tag, "verbatim", text), { dir: "ltr" });
