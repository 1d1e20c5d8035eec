// What happened, as a sentence: who did what, with which outcome.

import { actOf, countsOf } from "./acts.js";
import { approvalOf } from "./approvals.js";
import { entryOf, fields, listed, number, shortText, shortUrl } from "./fields.js";
import { connections } from "./rows.js";
import { person } from "/static/strings.js";
import { duration, isKey, moment, segments, translate, translateCount } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./strings.js").Segment} Segment */
/** @typedef {import("./strings.js").StringKey} StringKey */

/** Placeholders that hold what a program wrote or reads. */
const CODE = ["command", "path", "destination", "url", "what", "operation", "event", "tool", "server", "name", "outcome", "program"];
/** Changes that a receipt's sentence names. */
const MAX_NAMED = 3;
/** The state `given` leads to. @type {Record<string, StringKey>} */
const GIVEN = { agent: "givenAgent", shared: "givenShared" };
/** @type {Record<string, StringKey>} */
const CONTROL = {
  taken: "taken", released: "released", requested: "requested", withdrawn: "withdrawn", public: "privateOff", frozen: "paused", thawed: "resumed",
  connected: "agentConnected", came: "came", left: "left", expelled: "expelled", countdown: "countdown", renewed: "renewed", answered: "answered",
  "returned:idle": "returnedIdle", "returned:cap": "returnedCap", "returned:lost": "returnedLost",
  "private:focus": "privateFocus", "private:handoff": "privateHandoff",
  paused: "pausedPrograms", resumed: "resumedPrograms", "checkpoint:made": "toldCheckpoint", "checkpoint:restored": "toldRestored",
};
/** @type {Record<string, StringKey>} */
const LOG = { start: "recorderStart", stop: "recorderStop", file: "recorderFile" };
/** @type {Record<string, StringKey>} */
const UNANSWERED = { timeout: "timedOutRequest", cancelled: "cancelledRequest" };
/** @type {Record<string, StringKey>} */
const AND_UNANSWERED = { timeout: "andTimedOut", cancelled: "andCancelled" };
/** @type {Record<string, StringKey>} */
const SOCKETS = { "shell.terminal": "openedTerminal", "control.open_input": "openedViewer" };
/** Statuses with which a command has not exited. @type {Record<string, StringKey>} */
const STATUSES = {
  running: "running", no_change_timeout: "running", hard_timeout: "timedOut", timed_out: "timedOut", timeout: "timedOut",
  killed: "stopped", terminated: "stopped", error: "errored",
};

/** Whether it did not do what was asked. @param {Entry} entry @param {Entry} [ended] */
export function isFailed(entry, ended) {
  const { exit_code: code, status } = resultOf(entry, ended);
  if (connections.isRefused(entry) || (entry.operation && entry.outcome !== "ok")) return true;
  return entry.kind === "command" && ((number(code) ?? 0) !== 0 || ["error", "timed_out", "hard_timeout", "timeout"].includes(String(status)));
}

/** What came of a command, of which the end of a stream knows more. @param {Entry} entry @param {Entry} [ended] */
export const resultOf = (entry, ended) => ({ ...fields(entry.result), ...fields(ended?.result) });

/** Whose act it is, as a lane and a colour. @param {Entry["actor"]} actor @param {string | null} me the name of who reads */
export function driverOf({ type, name }, me) {
  if (type === "agent" || type === "system") return type;
  return name === me ? "you" : "other";
}

/** Who it is, in a sentence. @param {Entry["actor"]} actor @param {string | null} me */
export function whoOf(actor, me) {
  const driver = driverOf(actor, me);
  return driver === "other" ? shortText(person(actor.name)) || translate("somebody") : translate(driver);
}

/** Who it is, by the full name. @param {Entry["actor"]} actor @param {string | null} me */
export function nameOf(actor, me) {
  const name = shortText(person(actor.name));
  const driver = driverOf(actor, me);
  if (driver === "system" || !name || name === "unknown") return translate(actor.type);
  return `${translate(driver === "you" ? "you" : actor.type)} · ${name}`;
}

/** A row as a sentence in pieces. @param {Row} row @param {string | null} me @returns {Segment[]} */
export function sentence(row, me) {
  const [entry] = row.entries;
  if (entry.kind === "egress") return connections.sentence(row.entries);
  const who = whoOf(entry.actor, me);
  const say = entryOf(SAYINGS, entry.kind) ?? called;
  return row.entries.length > 1 || (entry.kind === "input" && entry.counts) ? [{ text: translate("burst", { who, list: burst(row.entries) }) }] : say(entry, who, me, row);
}

/** The same as text. @param {Row} row @param {string | null} me */
export const sentenceText = (row, me) => sentence(row, me).map(({ text }) => text).join("");

/** @param {Entry[]} entries */
function burst(entries) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const [what, count] of entries.flatMap(countsOf)) sums.set(what, (sums.get(what) ?? 0) + count);
  return [...sums].map(([what, count]) => translateCount(isKey(what) && isKey(`${what}One`) ? what : "others", count)).join(", ");
}

/** @param {StringKey} key @param {Record<string, string | number>} values */
const piece = (key, values = {}) => segments(key, values, CODE);

/** @typedef {(entry: Entry, who: string, me: string | null, row: Row) => Segment[]} Saying */

/** @type {Saying} */
function called(entry, who) {
  const { key, values } = actOf(entry);
  return [...piece(key, { who, ...values }), ...why(entry)];
}

/** Why a call failed; nothing where it did not. @param {Entry} entry */
function why(entry) {
  if (!entry.operation || entry.outcome === "ok") return [];
  const outcome = shortText(entry.outcome);
  const key = `why_${outcome}`;
  return isKey(key) ? piece(key) : piece("whyOther", { outcome });
}

/** @type {Saying} */
function command(entry, who, me, row) {
  if (!entry.operation) return piece("ranTerminal", { who, command: shortText(entry.command) });
  const said = called(entry, who, me, row);
  return entry.outcome === "ok" ? [...said, ...ending(entry, row.ended)] : said;
}

/** @param {Entry} entry @param {Entry} [ended] */
function ending(entry, ended) {
  const { exit_code: code, status } = resultOf(entry, ended);
  if (number(code) !== null) return piece("exit", { code: /** @type {number} */ (code) });
  const key = entryOf(STATUSES, shortText(status));
  return key ? piece(key) : [];
}

/** @type {Saying} */
function navigation(entry, who) {
  const event = shortText(entry.event);
  const url = shortUrl(entry.now ?? entry.was);
  return isKey(event) && ["opened", "closed", "moved"].includes(event) ? piece(event, { who, url }) : piece("otherControl", { who, event });
}

/** @type {Saying} */
function control(entry, who, me) {
  const event = shortText(entry.event);
  const to = entry.holder ? whoOf({ type: "person", name: shortText(entry.holder) }, me) : translate("agent");
  if (event === "given") return piece(entryOf(GIVEN, shortText(entry.state)) ?? "givenPerson", { who, to });
  if (event === "granted") return piece(entry.holder ? "granted" : "granted_agent", { who, to });
  if (event === "taken" && listed(entry.scope).join() === "shell") return piece("takenShell", { who });
  const key = entryOf(CONTROL, event) ?? (event.startsWith("private:") ? "privateOn" : null);
  return key ? piece(key, { who, note: shortText(entry.note) }) : piece("otherControl", { who, event });
}

/** The answer to a request: the choice that was made, else the outcome. @param {Entry} entry */
export function answerOf(entry) {
  const outcome = shortText(entry.outcome);
  if (entry.choice) return shortText(entry.choice);
  if (entry.asks === "confirm" && (outcome === "done" || outcome === "cannot")) return translate(outcome === "done" ? "yes" : "no");
  return isKey(outcome) ? translate(outcome) : outcome;
}

/** @type {Saying} */
function handoff(entry, who, me, row) {
  const approval = approvalOf(entry);
  const reason = approval?.values.what ?? shortText(entry.reason, 160);
  if (entry.event === "claimed") return piece(reason ? "claimed" : "claimedBare", { who, reason });
  if (entry.event === "closed") {
    return piece(entryOf(UNANSWERED, entry.outcome) ?? (reason ? "answeredRequest" : "answeredBare"), { who, reason, answer: answerOf(entry) });
  }
  const asked = approval ? piece(approval.key, { who, ...approval.values }) : piece(reason ? "asked" : "askedBare", { who, reason });
  return [...asked, ...(row.ended ? closing(row.ended, me) : [])];
}

/** @param {Entry} ended @param {string | null} me */
function closing(ended, me) {
  return piece(entryOf(AND_UNANSWERED, ended.outcome) ?? "andAnswered", { by: whoOf(ended.actor, me), answer: answerOf(ended) });
}

/** What a person changed, each as a few words. @param {unknown} receipt @returns {string[]} */
export function changesOf(receipt) {
  const found = fields(receipt);
  const base = (/** @type {unknown} */ path) => shortText(path).split("/").at(-1) ?? "";
  const tabs = listed(found.tabs).map((each) => {
    const { was, now } = fields(each);
    return translate(now ? "aTab" : "aClosedTab", { name: tabName(now ?? was) });
  });
  return [
    ...tabs,
    ...listed(found.windows_opened).map((name) => translate("aWindow", { name: shortText(name) })),
    ...listed(found.windows_closed).map((name) => translate("aClosedWindow", { name: shortText(name) })),
    ...listed(found.fields).map((name) => translate("aField", { name: shortText(name) })),
    ...listed(found.files).map((path) => translate("aFile", { name: base(path) })),
    ...listed(found.commands).map((name) => translate("aCommand", { name: shortText(name) })),
    ...listed(found.downloads).map((path) => translate("aDownload", { name: base(path) })),
  ];
}

/** A tab's path, or its host where it has none. @param {unknown} url */
function tabName(url) {
  const short = shortUrl(url);
  const slash = short.indexOf("/");
  return /^https?:/.test(shortText(url, 300)) && slash > 0 ? short.slice(slash) : short;
}

/** @type {Saying} */
function receipt(entry, _who, me) {
  const found = fields(entry.receipt);
  const who = whoOf({ type: "person", name: shortText(found.person) }, me);
  const changes = changesOf(found);
  const count = changes.length + (number(found.omitted) ?? 0);
  if (!count) return piece(found.private === true ? "changedPrivate" : "changedNothing", { who });
  const named = changes.slice(0, MAX_NAMED);
  const list = [...named, ...(count > named.length ? [translate("andMore", { count: count - named.length })] : [])].join(", ");
  return [{ text: translateCount("changed", count, { who, list }) }];
}

/** @type {Saying} */
function checkpoint(entry, who, me, row) {
  const result = fields(entry.result);
  const request = fields(entry.request);
  const stopped = number(result.stopped);
  const tail = stopped ? [{ text: translateCount("stoppedPrograms", stopped) }] : [];
  if (entry.operation === "checkpoints.create_checkpoint") {
    const name = shortText(request.label) || shortText(fields(result.checkpoint).id);
    return [...piece(name ? "madeCheckpoint" : "madeCheckpointBare", { who, name }), ...why(entry), ...tail];
  }
  if (entry.operation === "checkpoints.restore_checkpoint") {
    const name = shortText(request.checkpoint_id);
    const said = name === "image" ? piece("restoredImage", { who }) : piece("restored", { who, name });
    return [...said, ...why(entry), ...(result.kept ? piece("keptBefore") : []), ...tail];
  }
  return called(entry, who, me, row);
}

/** @type {Saying} */
function log(entry) {
  const event = shortText(entry.event);
  if (event === "lost") return piece("recorderLost", { count: shortText(entry.lost) });
  return piece(entryOf(LOG, event) ?? "otherLog", { event });
}

/** @type {Saying} */
function video(entry, who) {
  const until = number(entry.until);
  return until === null ? piece("unsavedVideo", { who }) : piece("savedVideo", { who, time: moment(until) });
}

/** @type {Saying} */
function call(entry, who, me, row) {
  const open = entryOf(SOCKETS, entry.operation);
  return open ? piece(open, { who, time: duration(number(entry.ms) ?? 0) }) : called(entry, who, me, row);
}

/** Entries of a terminal that was open were of the kind `command` once. @type {Saying} */
const commandOrTerminal = (entry, who, me, row) => (entry.operation === "shell.terminal" ? call : command)(entry, who, me, row);

/** @type {Record<string, Saying>} by kind */
const SAYINGS = { command: commandOrTerminal, navigation, control, handoff, receipt, checkpoint, log, video, call };
