// A request: what is asked, by which sandbox, how long there is, who is at it, and its answers.

import { element, say } from "./elements.js";
import { age, kindWord, length, person, secondsLeft, urgency } from "./format.js";

/** @typedef {import("./service.js").Question} Question */
/** @typedef {import("./service.js").Choice} Choice */
/**
 * @typedef {object} Actions
 * @property {(question: Question) => void} open
 * @property {(question: Question) => void} claim
 * @property {(question: Question) => void} release
 * @property {(question: Question, choice: Choice) => void} answer
 */

const URGENCIES = ["now", "soon", "later"];

export class QuestionCard {
  kind = element("span", { className: "kind" });
  left = element("span", { className: "left muted" });
  name = element("strong");
  reason = element("p", { className: "reason" });
  details = element("dl", { className: "details" });
  claimed = element("p", { className: "claimed muted" });
  tools = element("div", { className: "tools" });
  element = element("li", { tabIndex: -1 });
  #built = "";

  /** @param {Question} question @param {Actions} actions */
  constructor(question, actions) {
    this.question = question;
    this.actions = actions;
    this.element.append(element("p", { className: "line" }, this.kind, this.left), this.name, this.reason, this.details, this.claimed, this.tools);
    this.show(question);
  }

  /** @param {Question} question as it is now */
  show(question) {
    this.question = question;
    const { kind, name, reason, details, claimed_by: by, mine } = question;
    say(this.kind, kindWord(kind));
    say(this.name, name);
    say(this.reason, reason);
    this.details.replaceChildren(...details.flatMap(([term, value]) => [element("dt", { textContent: term }), element("dd", { textContent: value })]));
    say(this.claimed, !by ? "" : mine ? "You are at it." : `${person(by)} is at it.`);
    this.element.classList.toggle("mine", mine);
    this.element.classList.toggle("taken", Boolean(by) && !mine);
    this.#build();
    this.tick(Date.now());
  }

  /** Show how long there is. @param {number} now in milliseconds */
  tick(now) {
    this.element.dataset.urgency = URGENCIES[urgency(this.question, now)];
    say(this.left, `${length(secondsLeft(this.question, now))} left, asked ${age(this.question.asked_at, now)} ago`);
    this.element.ariaLabel = `${this.kind.textContent}, ${this.question.name}: ${this.question.reason}`;
  }

  /** Its buttons, made anew only where others are offered: a press is never lost. */
  #build() {
    const { answers, claimed_by: by, mine } = this.question;
    const free = !by || mine;
    const wanted = JSON.stringify([answers, free, mine]);
    if (wanted === this.#built) return;
    this.#built = wanted;
    const button = (/** @type {string} */ text, /** @type {string} */ kind, /** @type {() => void} */ onclick) =>
      element("button", { type: "button", className: `button small ${kind}`, textContent: text, onclick });
    const buttons = free ? answers.map((choice, at) => button(choice.label, at ? "quiet" : "", () => this.actions.answer(this.question, choice))) : [];
    buttons.push(button("Open", answers.length && free ? "quiet" : "", () => this.actions.open(this.question)));
    if (mine) buttons.push(button("Release", "quiet", () => this.actions.release(this.question)));
    else if (free) buttons.push(button("Claim", "quiet", () => this.actions.claim(this.question)));
    this.tools.replaceChildren(...buttons);
  }
}
