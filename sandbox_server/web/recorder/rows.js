// The rows of the list: most events are one row; a burst of input is one row together, and what belongs to another row is folded into it.

import { isByHand } from "./acts.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {{n: number, from: number, at: number, entries: Entry[], ended?: Entry}} Row `ended`: the closing event of a request, or of a streamed command */

/** Filled by connections.js, which home does without. @type {Pick<typeof import("./connections.js"), "isRefused" | "likeness"> & {sentence: (entries: Entry[]) => import("./strings.js").Segment[]}} */
export const connections = { sentence: () => [], isRefused: () => false, likeness: () => "" };

/** Seconds between two inputs of one burst, at most. */
const BURST_GAP = 10;
const MAX_BURST = 200;
/** Seconds between taking on a request and answering it that are one act. */
const AT_ONCE = 3;
/** Seconds after which somebody who left and came again had really left. */
const RELOAD_SECONDS = 30;

/** When an entry began, in seconds: its time is its end. A socket, which is open as long as a page is, has no length. @param {Entry} entry */
export function beginning(entry) {
  const acts = entry.kind !== "read" && entry.kind !== "call" && !entry.socket && entry.operation !== "shell.terminal";
  return acts && typeof entry.ms === "number" ? entry.at - entry.ms / 1000 : entry.at;
}

/** Whether an entry tells of viewers, and not of control. @param {Entry} entry */
export const isViewer = ({ kind, event }) => kind === "control" && (event === "came" || event === "left");

/** Events of control that nobody caused: the state at the start, and the warning before control returns. */
const NOBODYS = ["state", "countdown"];

/** Whether an entry is nobody's act, and has no row. @param {Entry} entry */
export const isNobodys = ({ kind, event }) => kind === "control" && NOBODYS.includes(event ?? "");

/** Seconds between a checkpoint or a restore, and the event that tells the viewers of it. */
const TOLD_SECONDS = 5;
/** What is told of an operation that has an entry. @type {Record<string, string>} */
const TOLD = { "checkpoint:made": "checkpoints.create_checkpoint", "checkpoint:restored": "checkpoints.restore_checkpoint" };

/** Whether an entry tells viewers of another one's act. @param {Entry} entry @param {Entry[]} entries */
const isToldOf = ({ kind, event, at }, entries) =>
  kind === "control" && TOLD[event ?? ""] !== undefined && entries.some((other) => other.operation === TOLD[event ?? ""] && Math.abs(other.at - at) <= TOLD_SECONDS);

/** Whether somebody acts by it: what merely reads, is open or watches is none. @param {Entry} entry */
export const isActing = (entry) => !["read", "call", "log", "video", "egress"].includes(entry.kind) && !isViewer(entry) && !isNobodys(entry);

/** Who did it: of a receipt, who changed something. @param {Entry} entry @returns {Entry["actor"]} */
export const actorOf = ({ kind, actor, receipt }) => (kind === "receipt" ? { type: "person", name: String(receipt?.person ?? "") } : actor);

/**
 * The rows of entries in order.
 * @param {Entry[]} entries
 * @returns {Row[]}
 */
export function rowsOf(entries) {
  const reloads = reloadsIn(entries);
  const closings = closingsOf(entries);
  const begun = new Set(entries.filter(({ kind, event }) => kind === "command" && event !== "ended").map(({ request_id }) => request_id));
  /** @type {Row[]} */
  const rows = [];
  for (const entry of entries) {
    const folded = entry.event === "ended" && entry.kind === "command" && begun.has(entry.request_id);
    if (folded || reloads.has(entry) || isNobodys(entry) || isToldOf(entry, entries) || isAnsweredAtOnce(entry, closings)) continue;
    const last = rows.at(-1);
    if (last && extendsBurst(last, entry)) {
      last.entries.push(entry);
      last.at = entry.at;
    } else {
      rows.push({ n: entry.n, from: beginning(entry), at: entry.at, entries: [entry], ended: closingOf(entry, closings) });
    }
  }
  return rows;
}

/** @param {Entry} entry */
const isPlainInput = (entry) => entry.kind === "input" && (entry.outcome ?? "ok") === "ok" && isByHand(entry);

/** @param {Row} row @param {Entry} entry */
function extendsBurst(row, entry) {
  const last = /** @type {Entry} */ (row.entries.at(-1));
  if (entry.kind === "egress") return isSameConnection(row, last, entry);
  return (
    isPlainInput(entry) && isPlainInput(last) && row.entries.length < MAX_BURST &&
    entry.actor.type === last.actor.type && entry.actor.name === last.actor.name && entry.at - last.at <= BURST_GAP
  );
}

/** Whether a connection belongs to the row of the one before. @param {Row} row @param {Entry} last @param {Entry} entry */
function isSameConnection(row, last, entry) {
  const { likeness } = connections;
  return likeness(entry) !== "" && likeness(entry) === likeness(last) && row.entries.length < MAX_BURST && entry.at - last.at <= BURST_GAP;
}

/** The events that close another one, by what both have in common. @param {Entry[]} entries @returns {Map<string, Entry>} */
function closingsOf(entries) {
  const found = new Map();
  for (const entry of entries) {
    if (entry.kind === "handoff" && entry.event === "closed") found.set(`handoff ${entry.id}`, entry);
    if (entry.kind === "command" && entry.event === "ended") found.set(`command ${entry.request_id}`, entry);
  }
  return found;
}

/** @param {Entry} entry @param {Map<string, Entry>} closings */
function closingOf(entry, closings) {
  if (entry.kind === "handoff" && entry.event === "open") return closings.get(`handoff ${entry.id}`);
  return entry.kind === "command" && entry.event !== "ended" ? closings.get(`command ${entry.request_id}`) : undefined;
}

/** Whether somebody took on a request only to answer it. @param {Entry} entry @param {Map<string, Entry>} closings */
function isAnsweredAtOnce(entry, closings) {
  const closed = entry.kind === "handoff" && entry.event === "claimed" ? closings.get(`handoff ${entry.id}`) : undefined;
  return closed !== undefined && closed.actor.name === entry.actor.name && closed.at - entry.at <= AT_ONCE;
}

/** Viewers who left and came again at once: they reloaded the page. @param {Entry[]} entries */
function reloadsIn(entries) {
  /** @type {Set<Entry>} */
  const found = new Set();
  /** @type {Map<string, Entry>} */
  const left = new Map();
  for (const entry of entries.filter(isViewer)) {
    const before = left.get(entry.actor.name);
    if (entry.event === "left") left.set(entry.actor.name, entry);
    else if (before && entry.at - before.at <= RELOAD_SECONDS) found.add(before).add(entry);
    if (entry.event === "came") left.delete(entry.actor.name);
  }
  return found;
}
