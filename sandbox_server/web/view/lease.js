// Who drives, as the server tells it: the state as it is, every change, and what one can do about it.

import { call } from "/static/api.js";

/**
 * @typedef {object} Control
 * @property {"agent" | "human" | "shared" | "frozen"} state
 * @property {string | null} holder
 * @property {number} epoch
 * @property {string | null} private who alone sees the screen
 * @property {{seconds: number, reason: "idle" | "cap" | "lost", soon: boolean} | null} returning
 * @property {{subject: string, person: boolean, ends_in: number}[]} requests
 * @property {{name: string, role: string, you: boolean}[]} viewers
 * @property {"implicit" | "click" | "ask"} take
 * @property {{name: string, person: boolean, role: "agent" | "view" | "control" | "admin", driving: boolean, sees: boolean}} you
 */

export class Lease {
  /** @type {Control | undefined} */
  now;
  /** When `now` was told, in milliseconds of this page. */
  told = 0;

  /**
   * @param {(control: Control, kind: string, by: string) => void} changed
   * @param {(reason: "lost" | "refused") => void} broken
   */
  constructor(changed, broken) {
    this.changed = changed;
    this.broken = broken;
  }

  /** Follow it from now on; the connection comes back by itself. */
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
   * @param {string} subject who asked
   * @param {boolean} yes
   */
  async answer(subject, yes) {
    const path = yes ? "/v1/control/grant" : `/v1/control/request/${encodeURIComponent(subject)}`;
    this.#take(await call(yes ? "POST" : "DELETE", path, yes ? { body: { subject } } : {}), "answered", "");
  }

  /** Seconds that are left of a time that was told with the state. @param {number} seconds */
  left(seconds) {
    return Math.max(0, Math.ceil(seconds - (performance.now() - this.told) / 1000));
  }

  /**
   * @param {Control} control
   * @param {string} kind
   * @param {string} by
   */
  #take(control, kind, by) {
    const late = this.now && control.epoch < this.now.epoch && kind !== "state"; // an answer that an event has overtaken
    if (late) return;
    this.now = control;
    this.told = performance.now();
    this.changed(control, kind, by);
  }
}
