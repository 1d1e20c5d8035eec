// The client of the control lease: its state, and the operations on it.

import { call } from "/static/api.js";

/**
 * @typedef {object} Control
 * @property {"agent" | "human" | "shared" | "frozen"} state
 * @property {string | null} holder
 * @property {number} epoch
 * @property {("gui" | "cdp" | "shell")[]} scope what the holder has
 * @property {string | null} private the person in private mode, who alone sees the screen
 * @property {{seconds: number, reason: "idle" | "cap" | "lost", soon: boolean} | null} returning
 * @property {{subject: string, person: boolean, ends_in: number}[]} requests
 * @property {{name: string, role: string, you: boolean}[]} viewers
 * @property {"implicit" | "click" | "ask"} take
 * @property {{count: number, names: string[]} | null} paused the agent's programs that stand still; null: they go on
 * @property {boolean} agent_seen whether a program has called since the sandbox started
 * @property {{name: string, person: boolean, role: "agent" | "view" | "control" | "admin", driving: boolean, sees: boolean}} you
 * @typedef {{kind: string, by: string, note?: string, control: Control}} Change
 */

export class Lease {
  /** @type {Control | undefined} */
  now;
  /** When `now` was true, by `performance.now()`. */
  receivedAt = 0;

  /** @param {(control: Control, kind: string, by: string) => void} changed */
  constructor(changed) {
    this.changed = changed;
  }

  /** @param {"take" | "release" | "request" | "renew" | "freeze" | "thaw" | "private" | "public"} verb */
  async do(verb) {
    this.show({ control: await call("POST", `/v1/control/${verb}`, { body: {} }), kind: verb, by: "" });
  }

  /** @param {string} to `agent`, `shared` or a person's name */
  async give(to) {
    this.show({ control: await call("POST", "/v1/control/give", { body: { to } }), kind: "given", by: "" });
  }

  /**
   * Answer a request for control.
   * @param {string} subject who asked
   * @param {boolean} yes
   */
  async answer(subject, yes) {
    const path = yes ? "/v1/control/grant" : `/v1/control/request/${encodeURIComponent(subject)}`;
    const control = await call(yes ? "POST" : "DELETE", path, yes ? { body: { subject } } : {});
    this.show({ control, kind: "answered", by: "" });
  }

  /** What is left now of a time that came with the state. @param {number} seconds */
  secondsLeft(seconds) {
    return Math.max(0, Math.ceil(seconds - (performance.now() - this.receivedAt) / 1000));
  }

  /**
   * Take a change, of an event or an answer.
   * @param {Change} change
   * @param {number} [age] milliseconds since it was sent
   */
  show({ control, kind, by }, age = 0) {
    const stale = this.now && control.epoch < this.now.epoch && kind !== "state"; // an event has overtaken this response
    if (stale) return;
    this.now = control;
    this.receivedAt = performance.now() - age;
    this.changed(control, kind, by);
  }
}
