// Who drove when, and when it was private: spans of time, from the events of kind `control`.

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {{from: number, until: number, state: string, holder: string | null}} ControlSpan */
/** @typedef {{from: number, until: number, who: string}} PrivateSpan */

/** Events after which nothing is private any more, in records that do not say so themselves. */
const ENDS_PRIVATE = new Set(["public", "released", "given", "granted", "expelled", "thawed", "state"]);

/** @param {Entry[]} entries */
const changes = (entries) => entries.filter(({ kind }) => kind === "control");

/**
 * Who drove from one change to the next; the last span ends at `now`.
 * @param {Entry[]} entries in order @param {number} now
 * @returns {ControlSpan[]}
 */
export function controlSpans(entries, now) {
  /** @type {ControlSpan[]} */
  const spans = [];
  for (const { at, state, holder = null } of changes(entries)) {
    if (typeof state !== "string") continue;
    const last = spans.at(-1);
    if (last?.state === state && last.holder === holder) continue;
    if (last) last.until = at;
    spans.push({ from: at, until: now, state, holder });
  }
  return spans;
}

/**
 * When the screen was hidden, and by whom; a span that goes on ends at `now`.
 * @param {Entry[]} entries in order @param {number} now
 * @returns {PrivateSpan[]}
 */
export function privateSpans(entries, now) {
  /** @type {PrivateSpan[]} */
  const spans = [];
  /** @type {PrivateSpan | null} */
  let open = null;
  for (const entry of changes(entries)) {
    const who = privateAfter(entry, open?.who ?? null);
    if (open && open.who !== who) {
      open.until = entry.at;
      open = null;
    }
    if (who !== null && !open) spans.push((open = { from: entry.at, until: now, who }));
  }
  return spans;
}

/** Who is private after a change. @param {Entry} entry @param {string | null} before */
function privateAfter(entry, before) {
  if (entry.private !== undefined) return typeof entry.private === "string" ? entry.private : null;
  const event = String(entry.event ?? "");
  if (event.startsWith("private:")) return entry.actor.name;
  return ENDS_PRIVATE.has(event) || event.startsWith("returned:") ? null : before;
}

/** The span that holds a moment. @template {{from: number, until: number}} T @param {T[]} spans @param {number} at @returns {T | undefined} */
export const spanAt = (spans, at) => spans.find(({ from, until }) => from <= at && at < until);
