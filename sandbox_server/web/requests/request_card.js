// The card of one request. Its parts stay while the request is open, so that nothing is lost while somebody types; they are shown as they apply.

import { asks } from "/static/bar/open_requests.js";
import { language, person } from "/static/strings.js";
import { MAX_CHOICES, mayNeedDriving, wayOf } from "./handoff.js";
import { plainLine, plainText } from "./plain_text.js";
import { RequestForm } from "./request_form.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("./request_actions.js").Answer} Answer */
/** @typedef {import("./request_actions.js").RequestActions} RequestActions */

const MAX_REASON = 4000;
const MAX_URL = 300;
const MAX_CHOICE = 400;
/** Words that are longer may need to scroll. */
const LONG_CHARS = 120;
/** Beside `done`. */
const OUTCOMES = /** @type {const} */ (["partly", "cannot", "instead"]);
let made = 0;

export class RequestCard {
  /** Whether it was taken on here. */
  #tookOn = false;
  #busy = false;
  #settling = false;
  /** @type {HTMLButtonElement[]} */
  #buttons = [];
  /** Whether Enter in a field sends the form. */
  #submits = false;
  element = element("section", "card request");
  state = element("p", "muted claimed");
  answering = element("div", "answering");
  claim = this.#button(translate("claim"), "", () => this.#claim());
  takeOver = this.#button(translate("takeOver"), "quiet", () => this.#claim());
  done = this.#button(translate("done"), "quiet", () => this.#answer({ outcome: "done" }, { asIs: true }));
  more = document.createElement("details");
  note = document.createElement("textarea");
  others = document.createElement("select");

  /**
   * @param {Handoff} handoff
   * @param {RequestActions} actions
   * @param {() => void} taken called once the person has taken it on
   */
  constructor(handoff, actions, taken = () => {}) {
    this.handoff = handoff;
    this.actions = actions;
    this.taken = taken;
    this.way = wayOf(handoff);
    this.form = new RequestForm(handoff, this.#fields());
    this.element.dataset.way = this.way;
    this.#build();
    this.show(handoff);
  }

  /** Whether the person has begun with it. */
  get begun() {
    return this.form.begun || this.note.value !== "" || (this.actions.you !== undefined && this.handoff.claimed_by === this.actions.you);
  }

  /** @param {Handoff} handoff as it is now */
  show(handoff) {
    this.handoff = handoff;
    const { you, decides } = this.actions;
    const claimed = handoff.claimed_by;
    const mine = claimed !== null && claimed === you;
    const may = you !== undefined && (claimed === null || mine);
    this.state.textContent = this.#state(claimed, you);
    this.form.show(handoff);
    const drives = this.way === "drive";
    this.answering.hidden = !may || (drives && !mine);
    this.claim.hidden = !may || mine || !mayNeedDriving(handoff);
    this.claim.className = `button${drives ? "" : " quiet"}`;
    this.takeOver.hidden = you === undefined || claimed === null || mine || !decides;
    this.more.hidden = !may;
    this.done.className = `button${drives && mine ? "" : " quiet"}`;
    if (drives && mine && !this.#tookOn) this.more.toggleAttribute("open", true);
    this.#showOthers(may);
    this.#tookOn ||= mine && drives;
  }

  /** Let nobody answer for a moment what has just come under their pointer. @param {boolean} settling */
  settle(settling) {
    this.#settling = settling;
    this.#enable();
  }

  /** @param {string | null} claimed @param {string | undefined} you */
  #state(claimed, you) {
    if (claimed) return claimed === you ? translate("claimedByYou") : translate("claimed", { name: person(claimed) });
    return you === undefined ? translate("noRights") : "";
  }

  #build() {
    const { kind, reason, instructions, url, deadline_at: deadline, on_timeout: then } = this.handoff;
    const title = element("h2", "", asks(kind));
    title.id = `request-title-${++made}`;
    this.element.setAttribute("aria-labelledby", title.id);
    const details = element("div", "details");
    if (instructions) details.append(words("p", "instructions", plainText(instructions, MAX_REASON)));
    if (url) details.append(words("code", "", plainLine(url, MAX_URL)));
    const time = new Date(deadline * 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
    const after = then === "continue" ? translate("thenContinue") : then ? translate("thenGiveUp") : "";
    details.append(element("p", "muted", [translate("until", { time }), after].filter(Boolean).join(" · ")));
    this.element.append(title, words("p", "reason", plainText(reason, MAX_REASON)), details, this.state, this.#answers());
  }

  /** All ways to answer. */
  #answers() {
    const form = document.createElement("form");
    form.className = "answers";
    form.onsubmit = (event) => {
      event.preventDefault();
      if (this.#submits) this.#answer({ outcome: "done" });
    };
    this.answering.append(this.form.element, ...this.#main());
    form.append(this.answering, this.claim, this.takeOver, this.#more());
    return form;
  }

  /** The fields to fill in; a request that asks for one text has one. */
  #fields() {
    if (this.way !== "text") return this.handoff.fields ?? [];
    return [{ name: "", label: translate(this.handoff.kind === "otp" ? "code" : "text"), secret: false }];
  }

  /** What is answered with: the choices, yes and no, or one button. @returns {HTMLElement[]} */
  #main() {
    if (this.handoff.choices?.length) return [this.#choices()];
    if (this.handoff.kind === "confirm") return [this.#yesNo()];
    if (this.way === "drive") return [];
    const button = /** @type {HTMLButtonElement} */ (element("button", "button main", translate(this.form.hasSecrets ? "finish" : "send")));
    this.#buttons.push(button);
    this.#submits = true;
    return [button];
  }

  #choices() {
    const list = element("ul", "choices");
    list.setAttribute("aria-label", translate("choices"));
    for (const choice of this.handoff.choices.slice(0, MAX_CHOICES)) {
      const button = this.#button("", "choice", () => this.#answer({ outcome: "done", choice }));
      button.className = "choice"; // never the look of the page's own buttons
      button.append(words("span", "", plainLine(choice, MAX_CHOICE) || translate("emptyChoice")));
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    return list;
  }

  #yesNo() {
    const tools = element("div", "tools");
    tools.append(
      this.#button(translate("yes"), "main", () => this.#answer({ outcome: "done" })),
      this.#button(translate("no"), "quiet", () => this.#answer({ outcome: "cannot" })),
    );
    return tools;
  }

  /** A message, the other outcomes, and passing it on. */
  #more() {
    this.more.className = "more";
    Object.assign(this.note, { rows: 2, maxLength: MAX_REASON, placeholder: translate("note") });
    this.note.setAttribute("aria-label", translate("note"));
    this.more.append(element("summary", "", translate(this.way === "yesNo" ? "message" : "more")), this.note);
    if (this.way !== "yesNo") this.more.append(this.#outcomes());
    this.others.setAttribute("aria-label", translate("passOn"));
    this.others.onchange = () => this.#passOn();
    this.more.append(this.others);
    return this.more;
  }

  #outcomes() {
    const tools = element("div", "tools");
    tools.append(this.done, ...OUTCOMES.map((outcome) => this.#button(translate(outcome), "quiet", () => this.#answer({ outcome }, { asIs: true }))));
    return tools;
  }

  /** @param {boolean} may */
  #showOthers(may) {
    const { others } = this.actions;
    this.others.hidden = !may || !others.length;
    const now = others.join("\n");
    if (this.others.dataset.names === now) return; // a redraw would close it
    this.others.dataset.names = now;
    this.others.replaceChildren(new Option(translate("passOn"), ""), ...others.map((name) => new Option(person(name), name)));
  }

  /** @param {Answer} answer @param {{asIs?: boolean}} [how] `asIs`: without typing secrets into the page */
  #answer(answer, { asIs = false } = {}) {
    return this.#exclusively(async () => {
      const typed = answer.outcome === "done" && !asIs ? await this.form.fill() : true;
      if (!typed) return;
      const { "": text = "", ...values } = this.form.values;
      const note = [text, this.note.value].filter(Boolean).join("\n");
      await this.actions.answer(this.handoff, { ...answer, note, values }, { release: this.#tookOn });
    });
  }

  #claim() {
    return this.#exclusively(async () => {
      this.#tookOn = true;
      this.more.toggleAttribute("open", true);
      await this.actions.claim(this.handoff);
      this.taken();
    });
  }

  #passOn() {
    return this.#exclusively(async () => {
      const to = this.others.value;
      this.others.value = "";
      if (to) await this.actions.passOn(this.handoff, to, { release: this.#tookOn });
    });
  }

  /** Do one thing at a time. @param {() => Promise<void>} act */
  async #exclusively(act) {
    if (this.#busy) return;
    this.#busy = true;
    this.#enable();
    try {
      await act();
    } finally {
      this.#busy = false;
      this.#enable();
    }
  }

  #enable() {
    for (const button of this.#buttons) button.disabled = this.#busy || this.#settling;
  }

  /** @param {string} text @param {string} look @param {() => Promise<unknown>} act */
  #button(text, look, act) {
    const button = /** @type {HTMLButtonElement} */ (element("button", `button ${look}`.trim(), text));
    button.type = "button";
    button.onclick = act;
    this.#buttons.push(button);
    return button;
  }
}

/** @param {string} tag @param {string} [look] @param {string} [text] */
function element(tag, look = "", text = "") {
  return Object.assign(document.createElement(tag), { className: look, textContent: text });
}

/** An element with words of the agent's, which set their own direction of writing and no other. @param {string} tag @param {string} look @param {string} text */
function words(tag, look, text) {
  const made = Object.assign(element(tag, `theirs ${look}`.trim(), text), { dir: "auto" });
  if (tag !== "span" && (text.length > LONG_CHARS || text.includes("\n"))) made.tabIndex = 0; // it may scroll, which the keyboard can do, too
  return made;
}
