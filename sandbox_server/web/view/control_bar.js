// The control bar: who drives, buttons for what the viewer may do about it, and notices.

import { person, translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {import("./lease.js").Lease} Lease */
/** @typedef {{id: string, text: string, quiet?: boolean, danger?: boolean, act: () => Promise<void>}} Action */

const TONES = { agent: "good", human: "waiting", shared: "waiting", frozen: "bad" };

export class ControlBar {
  /**
   * @param {{driver: HTMLElement, actions: HTMLElement, notices: HTMLElement, viewers: HTMLElement}} parts
   * @param {Lease} lease
   */
  constructor(parts, lease) {
    this.parts = parts;
    this.lease = lease;
    this.message = "";
    this.timer = 0;
    setInterval(() => this.lease.now && this.#updateTimes(this.lease.now), 500);
  }

  /** @param {Control} control */
  show(control) {
    this.parts.driver.textContent = driver(control);
    this.parts.driver.className = `state ${control.you.driving ? "waiting" : TONES[control.state]}`;
    document.body.dataset.control = control.you.driving && control.state === "human" ? "mine" : control.state;
    this.#showButtons(this.parts.actions, this.#actions(control));
    this.parts.viewers.textContent = watching(control);
    this.#updateTimes(control);
  }

  /** Show a notice for a moment. @param {string} text */
  notify(text) {
    this.message = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.notify(""), 5000);
    if (this.lease.now) this.#updateTimes(this.lease.now);
  }

  /** The action of the keyboard shortcut: take control, or give it back. */
  primaryAction() {
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
    if (state === "frozen") add("thaw", translate("thaw"), () => this.lease.do("thaw"));
    else if (state === "shared") add("unshare", translate("unshare"), () => this.lease.do("release"));
    else if (holder === you.name) {
      add("back", translate("back"), () => this.lease.do("release"));
      add("private", translate(control.private ? "public" : "private"), () => this.lease.do(control.private ? "public" : "private"), { quiet: true });
      add("share", translate("share"), () => this.lease.give("shared"), { quiet: true });
    } else if (mine) {
      add("cancel", translate("cancel"), () => this.lease.answer(you.name, false), { quiet: true });
    } else if (state === "human" || take === "ask") {
      add("ask", translate("ask"), () => this.lease.do("request"));
      if (holder && you.role === "admin") add("seize", translate("seize"), () => this.lease.do("take"), { quiet: true });
    } else {
      add("take", translate("take"), () => this.lease.do("take"));
      add("private", translate("private"), () => this.lease.do("private"), { quiet: true });
    }
    if (state !== "frozen") add("stop", translate("stop"), () => this.lease.do("freeze"), { quiet: true, danger: true });
    return found;
  }

  /** Update what counts down. @param {Control} control */
  #updateTimes(control) {
    const mine = control.requests.find((request) => request.subject === control.you.name);
    const left = mine && this.lease.secondsLeft(mine.ends_in);
    if (mine) this.parts.driver.textContent = `${driver(control)} · ${translate("asked", { seconds: left ?? 0 })}`;
    this.#notices(control);
  }

  /** @param {Control} control */
  #notices(control) {
    const { returning, holder, you, requests } = control;
    /** @type {{id: string, text: string, actions: Action[]}[]} */
    const notices = [];
    if (this.message) notices.push({ id: "message", text: this.message, actions: [] });
    const seconds = returning ? this.lease.secondsLeft(returning.seconds) : 0;
    if (returning?.soon && (holder === you.name || returning.reason === "lost")) {
      const stay = { id: "stay", text: translate("stay"), act: () => this.lease.do("renew") };
      const text = translate(returning.reason, { seconds, name: person(holder ?? "") });
      notices.push({ id: "returning", text, actions: returning.reason === "idle" ? [stay] : [] });
    }
    for (const request of you.role === "view" ? [] : requests) {
      if (request.subject !== you.name && mayAnswer(control)) notices.push(this.#requestNotice(request));
    }
    this.#showNotices(notices);
  }

  /** @param {Control["requests"][0]} request */
  #requestNotice(request) {
    const { subject } = request;
    return {
      id: `asked-${subject}`,
      text: request.person ? translate("wants", { name: person(subject) }) : translate("agentWants"),
      actions: [
        { id: `give-${subject}`, text: translate("give"), act: () => this.lease.answer(subject, true) },
        { id: `refuse-${subject}`, text: translate("refuse"), quiet: true, act: () => this.lease.answer(subject, false) },
      ],
    };
  }

  /** @param {{id: string, text: string, actions: Action[]}[]} notices */
  #showNotices(notices) {
    const shown = new Map([...this.parts.notices.children].map((element) => [/** @type {HTMLElement} */ (element).dataset.id, element]));
    const wanted = notices.map(({ id, text, actions }) => {
      const element = shown.get(id) ?? notice(id);
      const said = /** @type {HTMLElement} */ (element.firstElementChild);
      if (said.textContent !== text) said.textContent = text;
      this.#showButtons(/** @type {HTMLElement} */ (element.lastElementChild), actions);
      return element;
    });
    if (wanted.length !== shown.size || wanted.some((element) => !element.isConnected)) this.parts.notices.replaceChildren(...wanted);
  }

  /** Show buttons. One that stays keeps its place and the focus. @param {HTMLElement} place @param {Action[]} actions */
  #showButtons(place, actions) {
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
      this.notify(translate("failed", { reason: /** @type {Error} */ (error).message }));
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

/** Whether the viewer answers requests for control: as its holder, or as an admin. @param {Control} control */
function mayAnswer({ state, holder, you }) {
  return state === "human" ? holder === you.name || you.role === "admin" : false;
}

/** @param {Control} control */
function driver({ state, holder, you }) {
  if (state !== "human") return translate(state);
  return holder === you.name ? translate("you") : translate("other", { name: person(holder ?? "") });
}

/** @param {Control} control */
function watching({ viewers, you }) {
  const names = viewers.map((viewer) => (viewer.you ? translate("me", { name: person(viewer.name) }) : person(viewer.name)));
  const role = you.role === "view" ? ` · ${translate("watching")}` : "";
  return (names.length ? translate("viewers", { names: names.join(", ") }) : translate("nobody")) + role;
}
