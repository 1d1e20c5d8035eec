// The client of the audit log: the latest events, and those that are added.

import { call } from "/static/api.js";
import { translate } from "./strings.js";

/**
 * @typedef {object} Entry
 * @property {number} n
 * @property {number} at seconds since the epoch
 * @property {string} kind
 * @property {{type: "agent" | "person" | "system", name: string}} actor
 * @property {string} [operation]
 * @property {string} [outcome]
 * @property {string} [event]
 * @property {string} [command]
 * @property {number} [ms]
 * @property {Record<string, any>} [request]
 * @property {Record<string, number>} [counts]
 * @property {string | null} [was]
 * @property {string | null} [now]
 * @property {Record<string, any>} [receipt]
 */

/** Events that the page keeps. */
const MAX_ENTRIES = 1000;

export class EventLog {
  /** @type {Entry[]} */
  entries = [];
  /** @type {EventSource | undefined} */
  #events;

  /**
   * @param {() => void} changed
   * @param {(state: "live" | "lost" | "refused") => void} state
   */
  constructor(changed, state) {
    this.changed = changed;
    this.state = state;
  }

  /** Load the events of these kinds and follow them. @param {string[]} kinds */
  async show(kinds) {
    this.#events?.close();
    const query = new URLSearchParams({ kind: kinds.join(",") || "none" });
    try {
      const { events } = await call("GET", `/v1/recorder/events?${query}&limit=${MAX_ENTRIES}`);
      this.entries = events;
      this.changed();
      this.#follow(query, events.at(-1)?.n);
    } catch (error) {
      this.state(/** @type {any} */ (error).status === 403 ? "refused" : "lost");
    }
  }

  /** @param {URLSearchParams} query @param {number | undefined} after */
  #follow(query, after) {
    const events = new EventSource(`/v1/recorder/events?${query}${after === undefined ? "" : `&after=${after}`}`);
    this.#events = events;
    events.addEventListener("open", () => this.state("live"));
    events.addEventListener("error", () => this.state("lost"));
    events.addEventListener("event", (added) => {
      this.entries = [...this.entries, JSON.parse(/** @type {MessageEvent} */ (added).data)].slice(-MAX_ENTRIES);
      this.changed();
    });
  }
}

/** An entry in one line. @param {Entry} entry */
export function summary(entry) {
  const { kind, operation, event, request = {}, counts, receipt } = entry;
  if (counts) return Object.entries(counts).map(([what, count]) => translate(/** @type {any} */ (what), { count })).join(", ");
  if (receipt) return translate("changed", { person: receipt.person, count: changeCount(receipt) });
  if (kind === "navigation") return translate(/** @type {any} */ (event), { url: entry.now ?? entry.was ?? "" });
  const what = entry.command ?? request.command ?? request.cmd ?? request.code ?? request.file ?? request.path ?? request.url;
  const done = operation ?? event ?? "";
  return [done, what ?? describeAction(request)].filter(Boolean).join("  ");
}

/** @param {Record<string, any>} receipt */
function changeCount(receipt) {
  const lists = ["tabs", "windows_opened", "windows_closed", "fields", "files", "commands", "downloads"];
  return lists.reduce((sum, name) => sum + receipt[name].length, receipt.omitted);
}

/** @param {Record<string, any>} request */
function describeAction(request) {
  const action = request.action ?? request;
  return [action.action_type, action.x !== undefined && `${Math.round(action.x)}, ${Math.round(action.y)}`, action.selector].filter(Boolean).join(" ");
}
