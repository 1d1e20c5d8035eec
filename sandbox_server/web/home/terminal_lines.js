// The last lines of the terminal that was used last. A program wrote them: they are cut, stripped of control sequences and shown as text.

import { call } from "/static/api.js";
import { printable, shortText } from "/static/recorder/fields.js";
import { translate } from "/static/home/strings.js";
import { person } from "/static/strings.js";

/** @typedef {import("/static/terminal/session_list.js").Session} Session */

const LINES = 10;
const COLUMNS = 160;
/** Characters of the end of a terminal that are looked at. */
const MAX_READ = 20000;
/** How often it is read again while something runs in it, while nothing does, and at once after an act. */
const RUNNING_MS = 3000;
const IDLE_MS = 15000;
const SOON_MS = 400;
/** What follows ESC in a control sequence of terminals (ECMA-48): CSI, a string such as OSC up to its end, or one character. */
const SEQUENCE = /^(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\p{Cc}]*|[ -/]+[0-~]|[0-~])/u;

/** The last lines of a terminal's text. @param {string} text */
export function lastLines(text) {
  const [first, ...escaped] = text.slice(-MAX_READ).split("\u001b");
  const clean = printable(first + escaped.map((piece) => piece.replace(SEQUENCE, "")).join("")).trimEnd();
  return clean.split("\n").slice(-LINES).map((line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line)).join("\n");
}

/** The session that was used last; one that lives goes before one that has ended. @param {Record<string, Session>} sessions @returns {[string, Session] | undefined} */
export function usedLast(sessions) {
  const used = (/** @type {Session} */ { last_input_at: at, created_at: made }) => Date.parse(at ?? made) || 0;
  return Object.entries(sessions).sort(([, one], [, other]) => Number(other.alive) - Number(one.alive) || used(other) - used(one))[0];
}

/** What a session is called: who, where and what runs, as the terminal's page has it. @param {Session} session @param {string} home directory of the agent's user */
export function sessionName({ made_by: by, yours, owner, working_dir: at, status, current_command: command }, home) {
  const who = by === "agent" ? translate("agent") : yours ? translate("you") : person(owner ?? "");
  const where = at === home || at.startsWith(`${home}/`) ? `~${at.slice(home.length)}` : at;
  const what = status === "running" ? `${shortText(command)} (${translate("running")})` : "";
  return [shortText(who, 32), shortText(where, 40), what].filter(Boolean).join(" · ");
}

export class TerminalLines {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #reading = false;
  /** Whether something happened while they were read. */
  #outdated = false;

  /**
   * @param {{lines: HTMLElement, session: HTMLElement, none: HTMLElement}} parts
   * @param {string} home directory of the agent's user
   */
  constructor(parts, home) {
    this.parts = parts;
    this.home = home;
    document.addEventListener("visibilitychange", () => document.hidden || this.soon());
  }

  /** Read them again in a moment: something happened. */
  soon() {
    this.#outdated = this.#reading;
    this.#later(SOON_MS);
  }

  /** Read them now, and again later while the page is visible. */
  async read() {
    if (this.#reading) return this.soon();
    this.#reading = true;
    this.#outdated = false;
    const running = await this.#show().catch(() => false);
    this.#reading = false;
    if (this.#outdated) this.soon();
    else this.#later(running ? RUNNING_MS : IDLE_MS);
  }

  /** @param {number} ms */
  #later(ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => document.hidden || this.read(), ms);
  }

  /** @returns {Promise<boolean>} whether something runs */
  async #show() {
    const { lines, session, none } = this.parts;
    const { sessions } = await call("GET", "/v1/shell/sessions");
    const found = usedLast(sessions);
    lines.hidden = !found;
    none.hidden = Boolean(found);
    session.textContent = found ? sessionName(found[1], this.home) : "";
    if (!found) return false;
    const { output } = await call("POST", "/v1/shell/view", { body: { id: found[0] } });
    const text = lastLines(output);
    if (lines.textContent !== text) lines.textContent = text;
    return found[1].status === "running";
  }
}
