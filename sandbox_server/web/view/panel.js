// Who drives, shown: the state, what can be done about it, and what somebody asks for.

import { person, say } from "./words.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {import("./lease.js").Lease} Lease */
/** @typedef {{id: string, text: string, quiet?: boolean, danger?: boolean, act: () => Promise<void>}} Action */

const TONES = { agent: "good", human: "waiting", shared: "waiting", frozen: "bad" };

export class Panel {
  /**
   * @param {{driver: HTMLElement, actions: HTMLElement, notices: HTMLElement, viewers: HTMLElement}} parts
   * @param {Lease} lease
   */
  constructor(parts, lease) {
    this.parts = parts;
    this.lease = lease;
    this.passing = "";
    this.timer = 0;
    setInterval(() => this.lease.now && this.#count(this.lease.now), 500);
  }

  /** @param {Control} control */
  show(control) {
    this.parts.driver.textContent = driver(control);
    this.parts.driver.className = `state ${control.you.driving ? "waiting" : TONES[control.state]}`;
    document.body.dataset.control = control.you.driving && control.state === "human" ? "mine" : control.state;
    this.#put(this.parts.actions, this.#actions(control));
    this.parts.viewers.textContent = watching(control);
    this.#count(control);
  }

  /** Say something for a moment. @param {string} text */
  say(text) {
    this.passing = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.say(""), 5000);
    if (this.lease.now) this.#count(this.lease.now);
  }

  /** The action that a shortcut does: take control, or give it back. */
  first() {
    return this.lease.now && this.#actions(this.lease.now)[0];
  }

  /** @param {Control} control @returns {Action[]} */
  #actions(control) {
    const { you, state, holder, requests, take } = control;
    if (!you.person || you.role === "view") return [];
    /** @type {Action[]} */
    const found = [];
    /** @param {string} id @param {string} text @param {() => Promise<void>} act @param {Partial<Action>} [more] */
    const add = (id, text, act, more = {}) => found.push({ id, text, act, ...more });
    const mine = requests.find((request) => request.subject === you.name);
    if (state === "frozen") add("thaw", say("thaw"), () => this.lease.do("thaw"));
    else if (state === "shared") add("unshare", say("unshare"), () => this.lease.do("release"));
    else if (holder === you.name) {
      add("back", say("back"), () => this.lease.do("release"));
      add("private", say(control.private ? "public" : "private"), () => this.lease.do(control.private ? "public" : "private"), { quiet: true });
      add("share", say("share"), () => this.lease.give("shared"), { quiet: true });
    } else if (mine) {
      add("cancel", say("cancel"), () => this.lease.answer(you.name, false), { quiet: true });
    } else if (state === "human" || take === "ask") {
      add("ask", say("ask"), () => this.lease.do("request"));
      if (holder && you.role === "admin") add("seize", say("seize"), () => this.lease.do("take"), { quiet: true });
    } else {
      add("take", say("take"), () => this.lease.do("take"));
      add("private", say("private"), () => this.lease.do("private"), { quiet: true });
    }
    if (state !== "frozen") add("stop", say("stop"), () => this.lease.do("freeze"), { quiet: true, danger: true });
    return found;
  }

  /** What changes by the second. @param {Control} control */
  #count(control) {
    const mine = control.requests.find((request) => request.subject === control.you.name);
    const left = mine && this.lease.left(mine.ends_in);
    if (mine) this.parts.driver.textContent = `${driver(control)} · ${say("asked", { seconds: left ?? 0 })}`;
    this.#notices(control);
  }

  /** @param {Control} control */
  #notices(control) {
    const { returning, holder, you, requests } = control;
    /** @type {{id: string, text: string, actions: Action[]}[]} */
    const notices = [];
    if (this.passing) notices.push({ id: "passing", text: this.passing, actions: [] });
    const seconds = returning ? this.lease.left(returning.seconds) : 0;
    if (returning?.soon && (holder === you.name || returning.reason === "lost")) {
      const stay = { id: "stay", text: say("stay"), act: () => this.lease.do("renew") };
      const text = say(returning.reason, { seconds, name: person(holder ?? "") });
      notices.push({ id: "returning", text, actions: returning.reason === "idle" ? [stay] : [] });
    }
    for (const request of you.role === "view" ? [] : requests) {
      if (request.subject !== you.name && answers(control)) notices.push(this.#asked(request));
    }
    this.#show(notices);
  }

  /** @param {Control["requests"][0]} request */
  #asked(request) {
    const { subject } = request;
    return {
      id: `asked-${subject}`,
      text: request.person ? say("wants", { name: person(subject) }) : say("agentWants"),
      actions: [
        { id: `give-${subject}`, text: say("give"), act: () => this.lease.answer(subject, true) },
        { id: `refuse-${subject}`, text: say("refuse"), quiet: true, act: () => this.lease.answer(subject, false) },
      ],
    };
  }

  /** @param {{id: string, text: string, actions: Action[]}[]} notices */
  #show(notices) {
    const shown = new Map([...this.parts.notices.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.id, element]));
    const wanted = notices.map(({ id, text, actions }) => {
      const element = shown.get(id) ?? notice(id);
      const said = /** @type {HTMLElement} */ (element.firstElementChild);
      if (said.textContent !== text) said.textContent = text;
      this.#put(/** @type {HTMLElement} */ (element.lastElementChild), actions);
      return element;
    });
    if (wanted.length !== shown.size || wanted.some((element) => !element.isConnected)) this.parts.notices.replaceChildren(...wanted);
  }

  /** Show buttons; one that stays keeps its place and the focus. @param {HTMLElement} place @param {Action[]} actions */
  #put(place, actions) {
    const shown = new Map([...place.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.id, element]));
    const wanted = actions.map((action) => {
      const button = /** @type {HTMLButtonElement} */ (shown.get(action.id) ?? document.createElement("button"));
      button.dataset.id = action.id;
      button.className = `button${action.quiet ? " quiet" : ""}${action.danger ? " danger" : ""}`;
      if (button.textContent !== action.text) button.textContent = action.text;
      button.onclick = () => this.run(action);
      return button;
    });
    if (wanted.length === shown.size && wanted.every((button, index) => place.children[index] === button)) return;
    const focused = place.contains(document.activeElement);
    place.replaceChildren(...wanted);
    if (focused && !place.contains(document.activeElement)) wanted[0]?.focus();
  }

  /** @param {Action} action */
  async run(action) {
    try {
      await action.act();
    } catch (error) {
      this.say(say("failed", { reason: /** @type {Error} */ (error).message }));
    }
  }
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

/** Whether a request is for this person to answer: whoever has control, or an admin. @param {Control} control */
function answers({ state, holder, you }) {
  return state === "human" ? holder === you.name || you.role === "admin" : false;
}

/** @param {Control} control */
function driver({ state, holder, you }) {
  if (state !== "human") return say(state);
  return holder === you.name ? say("you") : say("other", { name: person(holder ?? "") });
}

/** @param {Control} control */
function watching({ viewers, you }) {
  const names = viewers.map((viewer) => (viewer.you ? say("me", { name: person(viewer.name) }) : person(viewer.name)));
  const role = you.role === "view" ? ` · ${say("watching")}` : "";
  return (names.length ? say("viewers", { names: names.join(", ") }) : say("nobody")) + role;
}
