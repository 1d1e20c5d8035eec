// The record as the server tells it: what was done so far, and what is done now.

import { call } from "/static/api.js";
import { say } from "./words.js";

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

const MOST = 1000;

export class History {
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

  /** Begin anew with these kinds. @param {string[]} kinds */
  async show(kinds) {
    this.#events?.close();
    const query = new URLSearchParams({ kind: kinds.join(",") || "none" });
    try {
      const { events } = await call("GET", `/v1/recorder/events?${query}&limit=${MOST}`);
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
    events.addEventListener("event", (told) => {
      this.entries = [...this.entries, JSON.parse(/** @type {MessageEvent} */ (told).data)].slice(-MOST);
      this.changed();
    });
  }
}

/** What an entry tells, in a line. @param {Entry} entry */
export function told(entry) {
  const { kind, operation, event, request = {}, counts, receipt } = entry;
  if (counts) return Object.entries(counts).map(([what, count]) => say(/** @type {any} */ (what), { count })).join(", ");
  if (receipt) return say("changed", { person: receipt.person, count: changes(receipt) });
  if (kind === "navigation") return say(/** @type {any} */ (event), { url: entry.now ?? entry.was ?? "" });
  const what = entry.command ?? request.command ?? request.cmd ?? request.code ?? request.file ?? request.path ?? request.url;
  const done = operation ?? event ?? "";
  return [done, what ?? acted(request)].filter(Boolean).join("  ");
}

/** @param {Record<string, any>} receipt */
function changes(receipt) {
  const lists = ["tabs", "windows_opened", "windows_closed", "fields", "files", "commands", "downloads"];
  return lists.reduce((sum, name) => sum + receipt[name].length, receipt.omitted);
}

/** @param {Record<string, any>} request */
function acted(request) {
  const action = request.action ?? request;
  return [action.action_type, action.x !== undefined && `${Math.round(action.x)}, ${Math.round(action.y)}`, action.selector].filter(Boolean).join(" ");
}
