// What an approval is about: one sentence of what wants what, and its details. Programs wrote the values, so they are shown as they are.

import { plainLine } from "./plain_text.js";
import { revealed } from "./revealed.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("./handoff.js").Subject} Subject */
/** @typedef {import("./handoff.js").Decision} Decision */
/** @typedef {{text: string, code?: boolean}} Piece `code`: what a program wrote */
/** @typedef {Parameters<typeof translate>[0]} Key */

/** Characters of a value in the sentence; the details have it whole. */
const MAX_INLINE = 120;
const MAX_VALUE = 8000;
/** Above, minutes are counted. */
const MOST_SECONDS = 90;
const MAX_NAME = 40;
const MAX_DETAILS = 16;
const MAX_SESSION = 24;
/** A long id, of which the start tells enough. */
const UUID = /^([0-9a-f]{8})-[0-9a-f-]{27}$/;
/** What a detail says that is not known. */
const UNKNOWN = "unknown";
/** Those that are left out, then. */
const IF_KNOWN = ["request", "protocol", "user"];
/** Those that are decided on, and are not in the sentence. */
const APART = ["body", "arguments", "site", "opens"];
/** The detail that has the agent's words. */
const WHY = "reason";
/** By the kind of a session. @type {Record<string, Key>} */
const SESSIONS = { shell: "shell", bash: "shell", jupyter: "kernel", code: "codeRun", nodejs: "node", mcp: "mcpServer", desktop: "desktop" };
/** Stands around the name of a value while a sentence is taken to pieces. */
const MARK = "\u0000";

/** The details that have a name, in their order. */
const NAMES = /** @type {const} */ ([
  "command", "directory", "request", "site", "opens", "method", "body", "host", "port", "protocol", "url", "file", "tool", "arguments", "server", "program", "session", "folder",
  "page", "origin", "task", "waiting", "user", "uid", "caller", "rule",
]);

/** What wants what, in pieces. @param {Handoff} handoff @returns {Piece[]} */
export function approvalSentence({ approval, reason }) {
  const { key, values } = wanted(approval?.subject, approval?.details ?? {});
  if (!key) return [{ text: plainLine(reason, MAX_INLINE * 2) }];
  const marks = Object.fromEntries(Object.keys(values).map((name) => [name, `${MARK}${name}${MARK}`]));
  return translate(key, marks).split(MARK).flatMap((text, at) => (at % 2 ? values[text] : text ? [{ text }] : []));
}

/** The same as text. @param {Handoff} handoff */
export const approvalText = (handoff) => approvalSentence(handoff).map(({ text }) => text).join("");

/** Whether the sentence has less than the details. @param {Handoff} handoff */
export const isCut = ({ approval }) => Object.entries(approval?.details ?? {}).some(([name, value]) => APART.includes(name) || (name !== WHY && value.length > MAX_INLINE));

/** Why the agent wants it, in its own words; empty where it does not say. @param {Handoff} handoff */
export const reasonOf = ({ approval, instructions }) => approval?.details[WHY] ?? instructions ?? "";

/** Its details by name, those that people know first. @param {Handoff} handoff @returns {[string, string][]} */
export function approvalDetails({ approval }) {
  /** @type {Record<string, string>} */
  const { [WHY]: _, ...details } = { ...approval?.details, ...(approval?.rule && { rule: approval.rule }) };
  for (const name of IF_KNOWN) if (details[name] === UNKNOWN) delete details[name];
  const known = NAMES.filter((name) => details[name]).map((name) => /** @type {[string, string]} */ ([translate(`detail_${name}`), details[name]]));
  const others = Object.entries(details).filter(([name, value]) => value && !NAMES.includes(/** @type {"host"} */ (name)));
  return [...known, ...others].slice(0, MAX_DETAILS).map(([name, value]) => [plainLine(name, MAX_NAME), revealed(String(value), MAX_VALUE)]);
}

/** A time as buttons have it. @param {number} seconds */
export function timeOf(seconds) {
  if (seconds <= MOST_SECONDS) return translate("seconds", { count: seconds });
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? translate("minutes", { count: minutes }) : translate("hours", { count: Math.round(minutes / 60) });
}

/** What the button of an answer says: with the time, where it holds for one. @param {Handoff} handoff @param {Decision} decision */
export function answerLabel({ approval }, decision) {
  const seconds = approval?.effects?.[decision]?.seconds;
  return seconds ? translate("allowFor", { time: timeOf(seconds) }) : translate(decision);
}

/** What an answer is, once it is given. @param {Handoff} handoff @param {Decision} decision */
export function answerDone({ approval }, decision) {
  const seconds = approval?.effects?.[decision]?.seconds;
  return seconds ? translate("allowedFor", { time: timeOf(seconds) }) : translate(`${decision}Done`);
}

/** What an answer allows, as a sentence. @param {Handoff} handoff @param {Decision} decision */
export function coversOf({ approval }, decision) {
  const effect = approval?.effects?.[decision];
  if (!approval || !effect) return "";
  const { details, subject } = approval;
  const known = { agent: translate("agentsPrograms"), desktop: translate("desktopsPrograms"), [UNKNOWN]: translate("everyProgram") };
  const user = details.user ?? UNKNOWN;
  const who = Object.hasOwn(known, user) ? known[/** @type {keyof typeof known} */ (user)] : translate("programsOf", { user });
  if (subject === "network" && !details.request) return translate(effect.seconds || decision === "task" ? "coversConnections" : "coversPrivate", { who, place: place(details) });
  if (decision === "once") return translate("coversThis");
  /** @type {Partial<Record<Subject, string>>} */
  const texts = {
    network: translate("coversRequest", { who }),
    shell: translate("coversLine", { directory: inline(details.directory ?? "") }),
    navigation: translate("coversHost", { host: inline(details.host ?? "") }),
    download: translate("coversFile"),
    tool: translate("coversCall"),
  };
  return texts[subject] ?? plainLine(effect.covers, MAX_INLINE * 2);
}

/** The rule that an answer writes, a field a line; empty where it writes none. @param {Handoff} handoff @param {Decision} decision */
export function ruleOf({ approval }, decision) {
  const text = approval?.effects?.[decision]?.rule;
  if (!text) return "";
  const lines = Object.entries(JSON.parse(text)).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return revealed(lines.join("\n"), MAX_VALUE);
}

/** @param {Subject | undefined} subject @param {Record<string, string>} all @returns {{key?: Key, values: Record<string, Piece[]>}} */
function wanted(subject, all) {
  const details = knownOf(all);
  const code = (/** @type {string | undefined} */ value) => [{ text: inline(value ?? ""), code: true }];
  const values = {
    who: who(subject, details),
    place: code(place(details)),
    command: code(details.command),
    request: code(details.request),
    url: code(details.url ?? place(details)),
    file: code(details.file),
    tool: code(details.tool),
    server: code(details.server),
  };
  const keys = /** @type {Record<string, Key | undefined>} */ ({
    network: details.request ? "wantsToSend" : "wantsToReach",
    shell: details.command ? "wantsToRun" : undefined,
    navigation: "wantsToOpen",
    download: details.file ? "wantsFile" : "wantsToDownload",
    submit: "wantsToSubmit",
    tool: details.server ? "wantsToolOf" : "wantsTool",
  });
  return { key: subject && Object.hasOwn(keys, subject) ? keys[subject] : undefined, values };
}

/** Who wants it: a program where it is known, and in which session. @param {Subject | undefined} subject @param {Record<string, string>} details @returns {Piece[]} */
function who(subject, { program, session, [WHY]: why }) {
  if ((subject !== "network" || why) && !program) return [{ text: translate("theAgent") }];
  const named = program ? [{ text: inline(programName(program)), code: true }] : [{ text: translate("aProgram") }];
  if (!session) return named;
  const [before, after] = translate("inSession", { who: MARK, session: sessionName(session) }).split(MARK);
  return [{ text: before }, ...named, { text: after }].filter(({ text }) => text);
}

/** A program's name by its command line. @param {string} command */
export const programName = (command) => command.trimStart().split(/\s/, 1)[0].split("/").at(-1) || command;

/** Details without those that are not known. @param {Record<string, string>} details @returns {Record<string, string>} */
const knownOf = (details) => Object.fromEntries(Object.entries(details).filter(([, value]) => value && value !== UNKNOWN));

/** What a session is called: by its kind and its name. @param {string} session such as `shell:main` */
export function sessionName(session) {
  const [kind, ...rest] = session.split(":");
  const name = plainLine(rest.join(":").replace(UUID, "$1"), MAX_SESSION);
  return Object.hasOwn(SESSIONS, kind) ? translate(SESSIONS[kind], { name }).trim() : inline(session);
}

/** @param {Record<string, string>} details */
function place({ host = "", port = "" }) {
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  return port ? `${name}:${port}` : name;
}

/** @param {string} value */
const inline = (value) => revealed(value.slice(0, 4 * MAX_INLINE).replace(/\s+/g, " "), MAX_INLINE);
