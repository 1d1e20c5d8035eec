// The client of the control lease: its state, its changes, and the operations on it.

import { call } from "/static/api.js";

/**
 * @typedef {object} Control
 * @property {"agent" | "human" | "shared" | "frozen"} state
 * @property {string | null} holder
 * @property {number} epoch
 * @property {string | null} private the person in private mode, who alone sees the screen
 * @property {{seconds: number, reason: "idle" | "cap" | "lost", soon: boolean} | null} returning
 * @property {{subject: string, person: boolean, ends_in: number}[]} requests
 * @property {{name: string, role: string, you: boolean}[]} viewers
 * @property {"implicit" | "click" | "ask"} take
 * @property {{name: string, person: boolean, role: "agent" | "view" | "control" | "admin", driving: boolean, sees: boolean}} you
 */

export class Lease {
  /** @type {Control | undefined} */
  now;
  /** When `now` arrived, by `performance.now()`. */
  receivedAt = 0;

  /**
   * @param {(control: Control, kind: string, by: string) => void} changed
   * @param {(reason: "lost" | "refused") => void} broken
   */
  constructor(changed, broken) {
    this.changed = changed;
    this.broken = broken;
  }

  /** Follow the lease; reconnects by itself. */
  follow() {
    const events = new EventSource("/v1/control/events");
    events.addEventListener("control", (event) => {
      const { kind, by, control } = JSON.parse(/** @type {MessageEvent} */ (event).data);
      this.#take(control, kind, by);
    });
    events.addEventListener("error", () => {
      if (events.readyState !== EventSource.CLOSED) return this.broken("lost");
      this.broken("refused");
      setTimeout(() => this.follow(), 4000);
      events.close();
    });
  }

  /** @param {"take" | "release" | "request" | "renew" | "freeze" | "thaw" | "private" | "public"} verb */
  async do(verb) {
    this.#take(await call("POST", `/v1/control/${verb}`, { body: {} }), verb, "");
  }

  /** @param {string} to `agent`, `shared` or a person's name */
  async give(to) {
    this.#take(await call("POST", "/v1/control/give", { body: { to } }), "given", "");
  }

  /**
   * Answer a request for control.
   * @param {string} subject who asked
   * @param {boolean} yes
   */
  async answer(subject, yes) {
    const path = yes ? "/v1/control/grant" : `/v1/control/request/${encodeURIComponent(subject)}`;
    this.#take(await call(yes ? "POST" : "DELETE", path, yes ? { body: { subject } } : {}), "answered", "");
  }

  /** What is left now of a time that came with the state. @param {number} seconds */
  secondsLeft(seconds) {
    return Math.max(0, Math.ceil(seconds - (performance.now() - this.receivedAt) / 1000));
  }

  /**
   * @param {Control} control
   * @param {string} kind
   * @param {string} by
   */
  #take(control, kind, by) {
    const stale = this.now && control.epoch < this.now.epoch && kind !== "state"; // an event has overtaken this response
    if (stale) return;
    this.now = control;
    this.receivedAt = performance.now();
    this.changed(control, kind, by);
  }
}
