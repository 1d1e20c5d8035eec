// The queue: the most urgent request first, of these the oldest; keys go from one to the next.

import { arrange } from "./elements.js";
import { urgency } from "./format.js";
import { QuestionCard } from "./question_card.js";

/** @typedef {import("./service.js").Question} Question */
/** @typedef {import("./question_card.js").Actions} Actions */

/** For so long after the list has moved no answer counts: it may have come under the pointer. */
const SETTLE_MS = 400;
/** The label of a sandbox that says what one must know to help it. */
const SKILL = "skill";

export class QuestionQueue {
  /** @type {Map<string, QuestionCard>} */
  #cards = new Map();
  /** @type {Question[]} */
  #questions = [];
  #skill = "";
  #order = "";
  #movedAt = 0;

  /** @param {HTMLElement} list @param {Actions} actions */
  constructor(list, actions) {
    this.list = list;
    this.actions = { ...actions, answer: this.#settled(actions.answer) };
  }

  /** The skills that are asked for. */
  get skills() {
    return [...new Set(this.#questions.map(({ labels }) => labels[SKILL]).filter(Boolean))].sort();
  }

  /** How many requests each sandbox has, by its id. @returns {Map<string, number>} */
  get counts() {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { sandbox } of this.#questions) counts.set(sandbox, (counts.get(sandbox) ?? 0) + 1);
    return counts;
  }

  /** How many requests there are. */
  get size() {
    return this.#questions.length;
  }

  /** The request that has the focus, or holds what has it. @returns {Question | undefined} */
  get current() {
    return [...this.#cards.values()].find(({ element }) => element.contains(document.activeElement))?.question;
  }

  /** @param {Question[]} questions all of them */
  show(questions) {
    this.#questions = questions;
    this.#arrange();
  }

  /** @param {string} skill that requests must need; empty for all */
  choose(skill) {
    this.#skill = skill;
    this.#arrange();
  }

  /** Show times again; what has become urgent moves up, and what is over goes. @param {number} now in milliseconds */
  tick(now) {
    for (const card of this.#cards.values()) card.tick(now);
    this.#arrange();
  }

  /** Go to the next request, or with -1 to the one before. @param {1 | -1} step */
  go(step) {
    const items = /** @type {HTMLElement[]} */ ([...this.list.children]);
    const at = items.findIndex((item) => item.contains(document.activeElement));
    const next = items[at < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + step, 0), items.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  #arrange() {
    const now = Date.now();
    const shown = this.#questions.filter(({ labels, ends_at: ends }) => Date.parse(ends) > now && (!this.#skill || labels[SKILL] === this.#skill));
    shown.sort((one, other) => urgency(one, now) - urgency(other, now) || Date.parse(one.asked_at) - Date.parse(other.asked_at));
    const order = shown.map(({ id }) => id).join();
    const wanted = new Set(this.#questions.map(({ id }) => id));
    for (const id of [...this.#cards.keys()]) if (!wanted.has(id)) this.#cards.delete(id);
    const elements = shown.map((question) => this.#card(question).element);
    if (order === this.#order) return;
    this.#order = order;
    this.#movedAt = now;
    arrange(this.list, elements);
  }

  /** @param {Question} question */
  #card(question) {
    const known = this.#cards.get(question.id);
    if (known) {
      if (known.question !== question) known.show(question);
      return known;
    }
    const card = new QuestionCard(question, this.actions);
    this.#cards.set(question.id, card);
    return card;
  }

  /** @param {Actions["answer"]} answer @returns {Actions["answer"]} */
  #settled(answer) {
    return (question, choice) => {
      if (Date.now() - this.#movedAt >= SETTLE_MS) answer(question, choice);
    };
  }
}
