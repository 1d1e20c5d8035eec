// Which state the files had before an entry of the recorder: the last one that is kept of before it, and what was done since.

import { call } from "/static/api.js";
import { IMAGE, listCheckpoints } from "./checkpoint_client.js";
import { span, when } from "./format.js";
import { stateName } from "./names.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Checkpoint} Checkpoint */
/**
 * @typedef {object} Act an entry of the recorder
 * @property {number} at when it was over, in seconds since the epoch
 * @property {string} kind
 * @property {string} [operation]
 * @property {string} [outcome]
 * @property {string} [event]
 * @property {Record<string, any>} [request]
 * @typedef {{id: string, at: number, automatic: boolean}} EarlierState `at`: since when the files were so; `automatic`: made for the entry itself
 */

const RESTORE = "checkpoints.restore_checkpoint";
/** Kinds of acts that may have changed files. */
const KINDS = ["command", "file", "input", "navigation"];
const MAX_EVENTS = 1000;

/**
 * The state before an entry: of the last checkpoint, or the one that was gone back to last.
 * @param {{from: number, entry: Act}} moment `from`: when the entry began
 * @param {Checkpoint[]} all
 * @param {Act[]} restores
 * @returns {EarlierState}
 */
export function stateBefore({ from, entry }, all, restores) {
  const kept = new Set([IMAGE, ...all.map(({ id }) => id)]);
  const made = all.map((checkpoint) => ({ id: checkpoint.id, at: checkpoint.created, automatic: isMadeFor(checkpoint, from, entry) }));
  const wentTo = restores.filter(isRestore).map(({ at, request }) => ({ id: String(request?.checkpoint_id), at, automatic: false }));
  const before = [...made, ...wentTo].filter(({ id, at, automatic }) => kept.has(id) && (automatic || at <= from));
  return before.reduce((last, state) => (state.at >= last.at ? state : last), { id: IMAGE, at: -Infinity, automatic: false });
}

/** Whether it was made by itself as the first part of that entry. @param {Checkpoint} checkpoint @param {number} from @param {Act} entry */
function isMadeFor({ why, label, created }, from, entry) {
  if (created < from || created > entry.at) return false;
  return (why === "before_risk" && label === `before ${entry.operation}`) || (why === "before_restore" && entry.operation === RESTORE);
}

/** @param {Act} act */
const isRestore = ({ operation, outcome }) => operation === RESTORE && outcome === "ok";

/**
 * The state before an entry with its name, and sentences about it. What was done since is still being read then.
 * @param {{from: number, entry: Act}} moment
 * @returns {Promise<{id: string, name: string, about: (string | Promise<string>)[]}>}
 */
export async function earlierState(moment) {
  const query = new URLSearchParams({ kind: "checkpoint", limit: String(MAX_EVENTS), until: String(moment.from) });
  const [{ checkpoints }, { events }] = await Promise.all([listCheckpoints(), call("GET", `/v1/recorder/events?${query}`)]);
  const state = stateBefore(moment, checkpoints, events);
  return { id: state.id, name: stateName(state.id, checkpoints), about: [which(state, moment.from), doneSince(state.at)] };
}

/** @param {EarlierState} state @param {number} from */
function which({ at, automatic }, from) {
  if (at === -Infinity) return translate("nearestImage");
  return automatic ? translate("nearestAutomatic", { time: when(at) }) : translate("nearest", { time: when(at), span: span(from - at) });
}

/** @param {number} at */
async function doneSince(at) {
  const query = new URLSearchParams({ kind: KINDS.join(","), limit: String(MAX_EVENTS), since: String(Math.max(0, at)), after: "0" });
  const { events } = await call("GET", `/v1/recorder/events?${query}`);
  const list = lostActs(events);
  if (!list) return translate("lostNone");
  return translate(events.length < MAX_EVENTS ? "lost" : "lostMany", { list });
}

/** How many acts of each sort there are. @param {Act[]} events */
export function lostActs(events) {
  const acts = events.filter(({ event, outcome, operation }) => event !== "ended" && (operation === undefined || outcome === "ok"));
  const commands = acts.filter(({ kind }) => kind === "command").length;
  const edits = acts.filter(({ kind }) => kind === "file").length;
  const counts = /** @type {const} */ ([["commands", commands], ["edits", edits], ["others", acts.length - commands - edits]]);
  return counts.filter(([, count]) => count).map(([key, count]) => translateCount(key, count)).join(", ");
}
