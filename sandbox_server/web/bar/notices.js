// The notices: a message of this page for a moment, what a pause stopped, control that returns by itself, and who asks for control.

import { plainLine } from "/static/requests/plain_text.js";
import { person } from "/static/strings.js";
import { showButtons } from "./action_buttons.js";
import { translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {import("./lease.js").Lease} Lease */
/** @typedef {import("./action_buttons.js").Action} Action */
/** @typedef {{id: string, text: string, actions: Action[]}} Notice */

const SHOWN_MS = 5000;
/** Notices that stay, at once. */
const MAX_KEPT = 3;
/** Programs that are named. */
const MAX_NAMED = 5;
const MAX_NAME_CHARS = 30;

export class Notices {
  #message = "";
  #state = "";
  /** Those that stay until somebody answers them. @type {Notice[]} */
  #kept = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {HTMLElement} place @param {Lease} lease */
  constructor(place, lease) {
    this.place = place;
    this.lease = lease;
  }

  /** Show a message for a moment, or until the state changes. @param {string} text */
  notify(text) {
    this.#message = text;
    clearTimeout(this.#timer);
    if (text) this.#timer = setTimeout(() => this.notify(""), SHOWN_MS);
    this.update();
  }

  /** Show a notice until it is dropped. @param {Notice} notice */
  keep(notice) {
    this.#kept = [...this.#kept.filter(({ id }) => id !== notice.id), notice].slice(-MAX_KEPT);
    this.update();
  }

  /** @param {string} id */
  drop(id) {
    this.#kept = this.#kept.filter((notice) => notice.id !== id);
    this.update();
  }

  /** A message of before says nothing about a new state. @param {Control} control */
  show({ state, holder, private: hidden }) {
    const now = JSON.stringify([state, holder, hidden]);
    if (now !== this.#state) this.#message = "";
    this.#state = now;
    this.update();
  }

  /** Draw them, with what is left of their times. */
  update() {
    const own = this.#message ? [{ id: "message", text: this.#message, actions: [] }] : [];
    this.#draw([...own, ...this.#kept, ...(this.lease.now ? [...pausing(this.lease.now), ...this.#returning(this.lease.now), ...this.#requests(this.lease.now)] : [])]);
  }

  /** Do something, and tell if it fails. @param {Pick<Action, "act">} action */
  async run(action) {
    try {
      await action.act();
    } catch (error) {
      this.notify(translate("failed", { reason: /** @type {Error} */ (error).message }));
    }
  }

  /** @param {Control} control @returns {Notice[]} */
  #returning({ returning, holder, you }) {
    if (!returning?.soon || (holder !== you.name && returning.reason !== "lost")) return [];
    const seconds = this.lease.secondsLeft(returning.seconds);
    const stay = { id: "stay", text: translate("stay"), act: () => this.lease.do("renew") };
    const text = translate(returning.reason, { seconds, name: person(holder ?? "") });
    return [{ id: "returning", text, actions: returning.reason === "idle" ? [stay] : [] }];
  }

  /** @param {Control} control @returns {Notice[]} */
  #requests(control) {
    if (!mayAnswer(control)) return [];
    return control.requests.filter(({ subject }) => subject !== control.you.name).map((request) => this.#request(request));
  }

  /** @param {Control["requests"][0]} request @returns {Notice} */
  #request({ subject, person: isPerson }) {
    return {
      id: `asked-${subject}`,
      text: isPerson ? translate("wants", { name: person(subject) }) : translate("agentWants"),
      actions: [
        { id: `give-${subject}`, text: translate("give"), act: () => this.lease.answer(subject, true) },
        { id: `refuse-${subject}`, text: translate("refuse"), quiet: true, act: () => this.lease.answer(subject, false) },
      ],
    };
  }

  /** @param {Notice[]} notices */
  #draw(notices) {
    const shown = new Map([...this.place.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.id, element]));
    const wanted = notices.map(({ id, text, actions }) => {
      const element = shown.get(id) ?? notice(id);
      const said = /** @type {HTMLElement} */ (element.firstElementChild);
      if (said.textContent !== text) said.textContent = text;
      showButtons(/** @type {HTMLElement} */ (element.lastElementChild), actions, (action) => this.run(action));
      return element;
    });
    if (wanted.length !== shown.size || wanted.some((element) => !element.isConnected)) this.place.replaceChildren(...wanted);
  }
}

/** What a pause stopped, as long as it lasts. @param {Control} control @returns {Notice[]} */
function pausing({ state, paused }) {
  const count = paused?.count ?? 0;
  if (state === "frozen") return [{ id: "paused", text: paused ? stopped(paused) : translate("pausedGoOn"), actions: [] }];
  return count ? [{ id: "paused", text: translate("pausedBehind", { count }), actions: [] }] : [];
}

/** The programs' names are the agent's words. @param {NonNullable<Control["paused"]>} paused */
function stopped({ count, names }) {
  if (!count) return translate("pausedNone");
  const first = names.slice(0, MAX_NAMED).map((name) => plainLine(name, MAX_NAME_CHARS));
  return translate("pausedAll", { count, names: [...first, ...(names.length > MAX_NAMED ? ["…"] : [])].join(", ") });
}

/** @param {string} id */
function notice(id) {
  const made = document.createElement("div");
  made.dataset.id = id;
  made.className = "notice";
  const actions = document.createElement("div");
  actions.className = "tools";
  made.append(document.createElement("p"), actions);
  return made;
}

/** Whether the viewer answers requests for control: as its holder, or as an admin. @param {Control} control */
function mayAnswer({ state, holder, you }) {
  return state === "human" && you.role !== "view" && (holder === you.name || you.role === "admin");
}
