// Shell sessions as the page lists them. Commands and directories come from the agent: they are cut, and shown as text.

import { person } from "/static/strings.js";
import { translate } from "/static/terminal/strings.js";

const MOST_COMMAND = 60;
const MOST_DIRECTORY = 32;
const MOST_OWNER = 32;
/** Control characters, and those that reorder or hide text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]+/gu;

/**
 * @typedef {object} Session
 * @property {string} working_dir
 * @property {string} created_at
 * @property {string} status
 * @property {string | null} current_command
 * @property {boolean} alive whether its shell lives
 * @property {"agent" | "person"} made_by
 * @property {string | null} owner
 * @property {boolean} yours
 * @property {string | null} last_input_at
 * @property {"agent" | "person" | null} last_input_by
 */

/** @typedef {Record<string, Session>} Sessions */

/** What a session is called: who, where and what runs. @param {Session} session @param {string} home directory of the agent's user */
export function title(session, home) {
  return [who(session), place(session.working_dir, home), what(session)].filter(Boolean).join(" · ");
}

/**
 * The sessions with their titles, the oldest first; equal titles are numbered.
 * @param {Sessions} sessions
 * @param {string} home
 * @returns {{id: string, title: string, session: Session}[]}
 */
export function entries(sessions, home) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const ordered = Object.entries(sessions).sort(([, one], [, other]) => one.created_at.localeCompare(other.created_at));
  return ordered.map(([id, session]) => {
    const plain = title(session, home);
    const count = (counts.get(plain) ?? 0) + 1;
    counts.set(plain, count);
    return { id, title: count > 1 ? `${plain} (${count})` : plain, session };
  });
}

/** What runs in a session, in one line; empty where it is not known. @param {Session} session */
export function command(session) {
  return cut(session.current_command ?? "", MOST_COMMAND);
}

/** When something was last run or typed in any session; empty where nothing was. @param {Sessions} sessions */
export function lastInput(sessions) {
  return Object.values(sessions).reduce((latest, { last_input_at: at }) => (later(at, latest) ? at ?? "" : latest), "");
}

/**
 * The session in which the agent typed since, where that is not the one that is shown.
 * @param {Sessions} sessions
 * @param {string} shown
 * @param {string} since as `lastInput` gave it
 * @returns {string | undefined} its id
 */
export function agentElsewhere(sessions, shown, since) {
  const [found] = Object.entries(sessions)
    .filter(([, session]) => session.last_input_by === "agent" && later(session.last_input_at, since))
    .sort(([, one], [, other]) => Date.parse(other.last_input_at ?? "") - Date.parse(one.last_input_at ?? ""));
  return found && found[0] !== shown ? found[0] : undefined;
}

/** @param {string | null} at @param {string} since */
function later(at, since) {
  return Boolean(at) && (!since || Date.parse(at ?? "") > Date.parse(since));
}

/** @param {Session} session */
function who({ made_by, yours, owner }) {
  if (made_by === "agent") return translate("agent");
  if (yours) return translate("you");
  return cut(person(owner ?? ""), MOST_OWNER);
}

/** @param {string} directory @param {string} home */
function place(directory, home) {
  const inHome = home && (directory === home || directory.startsWith(`${home}/`));
  const short = clean(inHome ? `~${directory.slice(home.length)}` : directory);
  return short.length > MOST_DIRECTORY ? `…${short.slice(1 - MOST_DIRECTORY)}` : short;
}

/** @param {Session} session */
function what(session) {
  if (!session.alive) return translate("over");
  if (session.status !== "running") return "";
  const shown = command(session);
  return shown ? translate("running", { command: shown }) : translate("busy");
}

/** @param {string} text @param {number} most characters */
function cut(text, most) {
  const short = clean(text.slice(0, 4 * most));
  return short.length > most ? `${short.slice(0, most - 1)}…` : short;
}

/** @param {string} text */
const clean = (text) => text.replace(UNSEEN, " ").replace(/\s+/g, " ").trim();
