// The rows of the list: most events are one row; a burst of input is one row together, and what belongs to another row is folded into it.

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {{n: number, from: number, at: number, entries: Entry[], ended?: Entry}} Row `ended`: the closing event of a request, or of a streamed command */

/** Seconds between two inputs of one burst, at most. */
const BURST_GAP = 10;
const MAX_BURST = 200;
/** Seconds after which somebody who left and came again had really left. */
const RELOAD_SECONDS = 30;

/** When an entry began, in seconds: its time is its end. A socket, which is open as long as a page is, has no length. @param {Entry} entry */
export function beginning(entry) {
  const acts = entry.kind !== "read" && entry.kind !== "call" && !entry.socket && entry.operation !== "shell.terminal";
  return acts && typeof entry.ms === "number" ? entry.at - entry.ms / 1000 : entry.at;
}

/** Whether an entry tells of viewers, and not of control. @param {Entry} entry */
export const isViewer = ({ kind, event }) => kind === "control" && (event === "came" || event === "left");

/** Whether somebody acts by it: what merely reads, is open or watches is none. @param {Entry} entry */
export const isActing = (entry) => !["read", "call", "log", "video"].includes(entry.kind) && !isViewer(entry) && entry.event !== "state";

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
    if (folded || reloads.has(entry) || (entry.kind === "control" && entry.event === "state")) continue;
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
const isPlainInput = ({ kind, outcome = "ok" }) => kind === "input" && outcome === "ok";

/** @param {Row} row @param {Entry} entry */
function extendsBurst(row, entry) {
  const last = /** @type {Entry} */ (row.entries.at(-1));
  return (
    isPlainInput(entry) && isPlainInput(last) && row.entries.length < MAX_BURST &&
    entry.actor.type === last.actor.type && entry.actor.name === last.actor.name && entry.at - last.at <= BURST_GAP
  );
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
