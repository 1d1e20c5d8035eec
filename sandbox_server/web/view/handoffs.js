// Handoffs: cards of what the agent asks of a person, who claims and answers them.

import { call } from "/static/api.js";
import { SecretFields } from "./secret_fields.js";
import { language, person, translate } from "./strings.js";

/**
 * @typedef {object} Handoff
 * @property {string} id
 * @property {"login" | "captcha" | "otp" | "payment" | "choice" | "confirm" | "free"} kind
 * @property {string} reason
 * @property {string} instructions
 * @property {string | null} url
 * @property {{x: number, y: number, width: number, height: number} | null} region
 * @property {string[]} choices
 * @property {import("./secret_fields.js").Field[]} fields
 * @property {string[]} [dropped] the secret fields that were filled in
 * @property {number} deadline_at
 * @property {string | null} claimed_by
 */

const OUTCOMES = /** @type {const} */ (["done", "partly", "cannot", "instead"]);

export class Handoffs {
  /** @type {Handoff[]} */
  open = [];
  /** @type {Set<string>} */
  #known = new Set();
  #secrets = new SecretFields();

  /**
   * @param {HTMLElement} place
   * @param {object} page
   * @param {() => string | undefined} page.you the viewer's name, if they may answer
   * @param {() => string[]} page.others the other viewers who may answer
   * @param {() => boolean} page.decides whether the viewer may reassign a request that another has claimed
   * @param {() => Promise<void>} page.take takes control
   * @param {() => Promise<void>} page.release gives control back
   * @param {(error: Error) => void} page.failed
   * @param {(open: Handoff[]) => void} page.changed
   */
  constructor(place, page) {
    this.place = place;
    this.page = page;
  }

  /** Follow the open requests; reconnects by itself. */
  follow() {
    const events = new EventSource("/v1/handoffs/events");
    events.addEventListener("handoffs", (event) => this.#take(JSON.parse(/** @type {MessageEvent} */ (event).data)));
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.follow(), 4000);
    });
  }

  /** Draw the cards again, and keep what was written in them. */
  show() {
    /** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */
    const inputs = this.place.querySelectorAll("input, textarea");
    const written = new Map([...inputs].map((input) => [input.name, input.value]));
    const focused = /** @type {HTMLTextAreaElement | null} */ (document.activeElement)?.name;
    this.place.replaceChildren(...this.open.map((handoff) => this.#card(handoff, written)));
    if (focused) /** @type {HTMLElement | null} */ (this.place.querySelector(`[name="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {Handoff[]} open */
  #take(open) {
    const added = open.filter(({ id }) => !this.#known.has(id));
    this.open = open;
    this.#secrets.keep(open);
    this.#known = new Set(open.map(({ id }) => id));
    this.show();
    this.page.changed(open);
    if (added.length) alertPerson(added[0]);
  }

  /** @param {Handoff} handoff @param {Map<string, string>} written the values of its inputs by name */
  #card(handoff, written) {
    const { kind, reason, instructions, url, claimed_by: claimed, deadline_at: deadline } = handoff;
    const card = element("section", "card");
    const time = new Date(deadline * 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
    card.append(element("h2", "", `${translate("asksFor")} ${translate(kind)}`), element("p", "reason", reason));
    if (instructions) card.append(element("p", "instructions", instructions));
    if (url) card.append(element("code", "", url));
    card.append(element("p", "muted", [claimed && translate("claimed", { name: person(claimed) }), translate("until", { time })].filter(Boolean).join(" · ")));
    const you = this.page.you();
    if (you && !claimed) card.append(this.#button(translate("claim"), "", () => this.#claim(handoff)));
    if (you && claimed === you) card.append(...this.#secrets.fields(handoff), ...this.#answers(handoff, written));
    if (you && claimed && claimed !== you && this.page.decides()) {
      card.append(this.#button(translate("doInstead"), "quiet", () => this.#claimInstead(handoff, you)));
    }
    return card;
  }

  /** @param {Handoff} handoff @param {Map<string, string>} written */
  #answers(handoff, written) {
    const fields = handoff.fields.filter(({ secret }) => !secret);
    const inputs = fields.map(({ name, label }) => labelled(label, `${handoff.id}/${name}`, written));
    const note = document.createElement("textarea");
    Object.assign(note, { name: handoff.id, rows: 2, value: written.get(handoff.id) ?? "", placeholder: translate("note") });
    note.setAttribute("aria-label", translate("note"));
    const tools = element("div", "tools");
    /** @param {string} outcome @param {string | null} choice */
    const answer = async (outcome, choice) => {
      await this.page.release(); // first: the agent goes on as soon as it has the answer
      const filled = inputs.map(({ lastElementChild: input }, at) => [fields[at].name, /** @type {HTMLInputElement} */ (input).value]);
      const values = Object.fromEntries(filled.filter(([, value]) => value));
      await call("POST", `/v1/handoffs/${handoff.id}/answer`, { body: { outcome, note: note.value, choice, values } });
    };
    for (const choice of handoff.choices) tools.append(this.#button(choice, "", () => answer("done", choice)));
    const outcomes = handoff.choices.length ? OUTCOMES.slice(2) : OUTCOMES;
    for (const outcome of outcomes) tools.append(this.#button(translate(outcome), outcome === "done" ? "" : "quiet", () => answer(outcome, null)));
    const others = this.page.others();
    return [...inputs, note, tools, ...(others.length ? [this.#passOn(handoff, others)] : [])];
  }

  /** @param {Handoff} handoff @param {string[]} others */
  #passOn(handoff, others) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", translate("passOn"));
    select.append(new Option(translate("passOn"), ""), ...others.map((name) => new Option(person(name), name)));
    select.onchange = async () => {
      try {
        await this.page.release();
        await call("POST", `/v1/handoffs/${handoff.id}/assign`, { body: { to: select.value } });
      } catch (error) {
        this.page.failed(/** @type {Error} */ (error));
        select.value = "";
      }
    };
    return select;
  }

  /** @param {Handoff} handoff */
  async #claim(handoff) {
    await call("POST", `/v1/handoffs/${handoff.id}/claim`, { body: {} });
    await this.page.take();
  }

  /** @param {Handoff} handoff @param {string} you */
  async #claimInstead(handoff, you) {
    await call("POST", `/v1/handoffs/${handoff.id}/assign`, { body: { to: you } });
    await this.page.take();
  }

  /** @param {string} text @param {string} look @param {() => Promise<unknown>} act */
  #button(text, look, act) {
    const button = element("button", `button ${look}`, text);
    button.onclick = () => act().catch(this.page.failed);
    return button;
  }
}

/** @param {string} tag @param {string} look @param {string} [text] */
function element(tag, look, text = "") {
  return Object.assign(document.createElement(tag), { className: look, textContent: text });
}

/** @param {string} text @param {string} name @param {Map<string, string>} written */
function labelled(text, name, written) {
  const label = element("label", "field");
  const input = document.createElement("input");
  Object.assign(input, { name, value: written.get(name) ?? "", autocomplete: "off", maxLength: 4000 });
  label.append(element("span", "", text), input);
  return label;
}

/** Alert a person who looks elsewhere: a sound, and a notification where the browser allows it. @param {Handoff} handoff */
function alertPerson({ kind, reason }) {
  if (globalThis.Notification?.permission === "granted" && document.hidden) {
    new Notification(`${translate("asksFor")} ${translate(kind)}`, { body: reason, icon: "/static/home/icon.svg" });
  }
  try {
    const sound = new AudioContext();
    const tone = new OscillatorNode(sound, { frequency: 660 });
    tone.connect(new GainNode(sound, { gain: 0.05 })).connect(sound.destination);
    tone.start();
    tone.stop(sound.currentTime + 0.25);
    tone.onended = () => sound.close();
  } catch {
    return; // the browser plays no sound here; the card is shown anyway
  }
}
