// The client of the audit log: a window of consecutive events, which grows to both sides, and follows what happens while it reaches the end.

import { call } from "/static/api.js";
import { EventStream } from "/static/event_stream.js";

/**
 * @typedef {object} Entry
 * @property {number} n
 * @property {number} at seconds since the epoch
 * @property {string} kind
 * @property {{type: "agent" | "person" | "system", name: string}} actor
 * @property {string} [hash]
 * @property {string} [operation]
 * @property {string} [outcome]
 * @property {string} [event]
 * @property {string} [command]
 * @property {string} [session]
 * @property {string} [surface]
 * @property {string} [request_id]
 * @property {string} [error]
 * @property {boolean} [socket] a connection that was open, as long as `ms`
 * @property {number} [ms]
 * @property {Record<string, any>} [request]
 * @property {Record<string, any>} [result]
 * @property {boolean} [more] there is output, which the event has when it is read alone
 * @property {Record<string, number>} [counts]
 * @property {string | null} [was]
 * @property {string | null} [now]
 * @property {Record<string, any>} [receipt]
 * @property {string} [state] @property {string | null} [holder] @property {string | null} [private] @property {string[]} [scope] @property {string} [note]
 * @property {string} [id] @property {string} [asks] @property {string} [reason] @property {string} [choice] @property {number} [note_length]
 * @property {number} [lost] @property {number} [since] @property {number} [until]
 */

/** Events that are read at once. */
const PAGE = 1000;
/** Events that the page keeps; beyond, those farthest from what was asked for last go. */
const MAX_ENTRIES = 5000;
/** Kinds that are always read: who drives and what is private is drawn whatever the list shows. */
const ALWAYS = ["control"];

export class EventLog {
  /** @type {Entry[]} in order */
  entries = [];
  /** Whether there may be earlier events. */
  hasEarlier = false;
  /** Whether there may be later events, which are not followed then. */
  hasLater = false;
  /** What happens from now on, after the last entry. */
  #events = new EventStream(() => this.#following(), ["event"], {
    event: (_, added) => {
      this.#append([added]);
      this.changed();
    },
    opened: () => this.state("live"),
    broken: () => this.state("lost"),
  });
  #kind = "";
  /** Grows with every new window, so that an answer for an older one counts no more. */
  #window = 0;

  /**
   * @param {() => void} changed
   * @param {(state: "live" | "past" | "lost" | "refused") => void} state
   */
  constructor(changed, state) {
    this.changed = changed;
    this.state = state;
  }

  /** Load events of these kinds: those around a moment, or the latest. @param {string[]} kinds @param {number | null} [at] seconds since the epoch */
  async show(kinds, at = null) {
    this.#events.close();
    this.#kind = [...new Set([...kinds, ...ALWAYS])].join(",");
    const window = ++this.#window;
    await this.#attempt(async () => {
      const found = await this.#read(at === null ? {} : { until: at + 1 });
      if (window !== this.#window) return;
      this.hasEarlier = found.length === PAGE;
      this.hasLater = at !== null;
      this.entries = found;
      if (this.hasLater) await this.later();
      else this.#events.open();
      this.changed();
    });
  }

  /** Load the page before. */
  async earlier() {
    const window = this.#window;
    const [first] = this.entries;
    if (!this.hasEarlier || !first) return;
    await this.#attempt(async () => {
      const found = await this.#read({ before: first.n });
      if (window !== this.#window) return;
      this.hasEarlier = found.length === PAGE;
      this.entries = [...found, ...this.entries];
      if (this.entries.length > MAX_ENTRIES) {
        this.entries = this.entries.slice(0, MAX_ENTRIES);
        this.#events.close();
        this.hasLater = true;
        this.state("past");
      }
      this.changed();
    });
  }

  /** Load the page after; where there is no more, follow what happens. */
  async later() {
    const window = this.#window;
    if (!this.hasLater) return;
    await this.#attempt(async () => {
      const found = await this.#read({ after: this.entries.at(-1)?.n ?? 0 });
      if (window !== this.#window) return;
      this.#append(found);
      this.hasLater = found.length === PAGE;
      if (this.hasLater) this.state("past");
      else this.#events.open();
      this.changed();
    });
  }

  /** One event whole. @param {number} n @returns {Promise<Entry>} */
  read(n) {
    return call("GET", `/v1/recorder/events/${n}`);
  }

  /** @param {Record<string, number>} where @returns {Promise<Entry[]>} */
  async #read(where) {
    const query = new URLSearchParams({ kind: this.#kind, limit: String(PAGE), ...where });
    return (await call("GET", `/v1/recorder/events?${query}`)).events;
  }

  /** @param {() => Promise<void>} act */
  async #attempt(act) {
    try {
      await act();
    } catch (error) {
      this.state(/** @type {any} */ (error).status === 403 ? "refused" : "lost");
    }
  }

  /** @param {Entry[]} added */
  #append(added) {
    const all = [...this.entries, ...added];
    this.hasEarlier ||= all.length > MAX_ENTRIES;
    this.entries = all.slice(-MAX_ENTRIES);
  }

  #following() {
    const query = new URLSearchParams({ kind: this.#kind, after: String(this.entries.at(-1)?.n ?? 0) });
    return `/v1/recorder/events?${query}`;
  }
}
