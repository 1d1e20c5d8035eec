// Hands one connection's events to all pages of a browser. It runs in a shared worker.

import { eventConnection } from "./live_events.js";

/** Pages that are told at once; the one that came first goes for the next. A page that crashed never says that it left. */
const MAX_PAGES = 64;

/**
 * @typedef {import("./live_events.js").EventName} EventName
 * @typedef {{follow: string} | {leave: true} | {hurry: true}} Wish what a page sends; `follow` is the name of who is signed in there
 * @typedef {{name: EventName, data: any, age: number} | {broken: import("/static/event_stream.js").Broken}} Told what a page gets;
 *   `age`: milliseconds since the server sent it
 */

export class SharedEvents {
  /** @type {Set<MessagePort>} */
  #pages = new Set();
  /** The last of each event, and when it came. @type {Map<EventName, {data: any, at: number}>} */
  #last = new Map();
  #caller = "";

  /** @param {(listener: import("./live_events.js").EventListener) => import("/static/event_stream.js").EventStream<EventName>} [connect] */
  constructor(connect = eventConnection) {
    this.connection = connect({
      event: (name, data) => this.#event(name, data),
      broken: (reason) => this.#tell({ broken: reason }),
    });
  }

  /** Serve one more page. @param {MessagePort} page */
  add(page) {
    page.onmessage = ({ data }) => this.#take(page, data);
  }

  /** @param {MessagePort} page @param {Wish} wish */
  #take(page, wish) {
    if ("leave" in wish) this.#remove(page);
    else if ("hurry" in wish) this.connection.hurry();
    else this.#follow(page, wish.follow);
  }

  /** @param {MessagePort} page @param {string} caller */
  #follow(page, caller) {
    const first = !this.#pages.size || caller !== this.#caller; // somebody else signed in: the connection is still of who was before
    this.#pages.add(page);
    if (this.#pages.size > MAX_PAGES) this.#remove(/** @type {MessagePort} */ (this.#pages.values().next().value));
    this.#caller = caller;
    if (first) return this.#connect();
    this.connection.hurry();
    for (const [name, { data, at }] of this.#last) {
      const known = name === "control" ? { ...data, kind: "state", by: "" } : data;
      page.postMessage({ name, data: known, age: performance.now() - at });
    }
  }

  #connect() {
    this.#last.clear();
    this.connection.open();
  }

  /** @param {MessagePort} page */
  #remove(page) {
    this.#pages.delete(page);
    if (!this.#pages.size) this.connection.close();
  }

  /** @param {EventName} name @param {any} data */
  #event(name, data) {
    this.#last.set(name, { data, at: performance.now() });
    this.#tell({ name, data, age: 0 });
  }

  /** @param {Told} told */
  #tell(told) {
    for (const page of this.#pages) page.postMessage(told);
  }
}
