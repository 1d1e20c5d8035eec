// What a person does about requests: answers, takes on, passes on. What came in between is told.

import { ApiError, call } from "/static/api.js";
import { person } from "/static/strings.js";
import { answerDone, approvalText } from "./approval.js";
import { isApproval } from "./handoff.js";
import { translate } from "./strings.js";

/** @typedef {import("./handoff.js").Handoff} Handoff */
/** @typedef {import("../bar/lease.js").Lease} Lease */
/** @typedef {{outcome: "done" | "partly" | "cannot" | "instead", note?: string, choice?: string | null, values?: Record<string, string>}} Answer */

/** @typedef {import("./handoff.js").Decision} Decision */

/** @type {Decision[]} */
const DECISIONS = ["once", "task", "always", "deny"];

export class RequestActions {
  /** Requests that were answered here. @type {Set<string>} */
  #answered = new Set();

  /**
   * @param {Lease} lease
   * @param {(text: string) => void} notify
   */
  constructor(lease, notify) {
    this.lease = lease;
    this.notify = notify;
  }

  /** The viewer's name, if they may answer. @returns {string | undefined} */
  get you() {
    const you = this.lease.now?.you;
    return you?.person && you.role !== "view" ? you.name : undefined;
  }

  /** The other viewers who may answer. @returns {string[]} */
  get others() {
    return (this.lease.now?.viewers ?? []).filter(({ you, role }) => !you && role !== "view").map(({ name }) => name);
  }

  /** Whether the viewer may take over what another has claimed. */
  get decides() {
    return this.lease.now?.you.role === "admin";
  }

  /**
   * Answer a request. Control is handed back before, with `release`: the agent goes on as soon as it has the answer.
   * @param {Handoff} handoff
   * @param {Answer} answer
   * @param {{release?: boolean}} [options]
   * @returns {Promise<boolean>} whether it was sent; if not, the person is told why
   */
  async answer({ id }, { outcome, note = "", choice = null, values = {} }, { release = false } = {}) {
    this.#answered.add(id);
    try {
      if (release && this.lease.now?.holder === this.you) await this.lease.do("release");
      await call("POST", `/v1/handoffs/${id}/answer`, { body: { outcome, note, choice, values } });
      this.notify(translate("sent"));
      return true;
    } catch (error) {
      this.#answered.delete(id);
      this.notify(await this.#why(id, /** @type {Error} */ (error), "answeredBy"));
      return false;
    }
  }

  /**
   * Allow or deny what waits.
   * @param {Handoff} handoff
   * @param {Decision} decision one of its answers
   * @returns {Promise<boolean>} whether it was sent; if not, the person is told why
   */
  async decide(handoff, decision) {
    const { id } = handoff;
    this.#answered.add(id);
    try {
      await call("POST", `/v1/handoffs/${id}/answer`, { body: { outcome: decision } });
      this.notify(answerDone(handoff, decision));
      return true;
    } catch (error) {
      this.#answered.delete(id);
      this.notify(await this.#why(id, /** @type {Error} */ (error), "answeredBy"));
      return false;
    }
  }

  /** Take a request on, and control with it. @param {Handoff} handoff */
  async claim({ id, claimed_by: claimed }) {
    const path = claimed && claimed !== this.you ? "assign" : "claim";
    await this.#attempt(id, async () => {
      await call("POST", `/v1/handoffs/${id}/${path}`, { body: path === "assign" ? { to: this.you } : {} });
      if (!this.lease.now?.you.driving) await this.lease.do("take");
    });
  }

  /** Pass a request on to another, and hand back the control that it needed. @param {Handoff} handoff @param {string} to @param {{release: boolean}} options */
  async passOn({ id }, to, { release }) {
    await this.#attempt(id, async () => {
      if (release && this.lease.now?.holder === this.you) await this.lease.do("release");
      await call("POST", `/v1/handoffs/${id}/assign`, { body: { to } });
    });
  }

  /** Tell who had begun to answer why a request is gone. @param {string} id */
  async explainGone(id) {
    if (this.#answered.has(id)) return;
    const text = await this.#ending(id, "gone");
    if (text) this.notify(text);
  }

  /** @param {string} id @param {() => Promise<void>} act */
  async #attempt(id, act) {
    try {
      await act();
    } catch (error) {
      this.notify(await this.#why(id, /** @type {Error} */ (error), "answeredBy"));
    }
  }

  /** @param {string} id @param {Error} error @param {"answeredBy" | "gone"} answered */
  async #why(id, error, answered) {
    const told = error instanceof ApiError && error.status === 409 ? await this.#ending(id, answered) : "";
    return told || translate("failed", { reason: error.message });
  }

  /** What became of a request, as a sentence; empty where it is as it was. @param {string} id @param {"answeredBy" | "gone"} answered */
  async #ending(id, answered) {
    /** @type {Handoff | null} */
    const now = await call("GET", `/v1/handoffs/${id}`).catch(() => null);
    if (!now) return "";
    if (isApproval(now)) return approvalEnding(now);
    const { status, outcome, closed_by: by, claimed_by: claimed, deadline_at: deadline } = now;
    if (outcome === "timeout" || (status !== "closed" && deadline * 1000 <= Date.now())) return translate("expired");
    if (outcome === "cancelled") return translate("withdrawn");
    if (status === "closed") return translate(answered, { name: person(by ?? "") });
    return claimed && claimed !== this.you ? translate("claimed", { name: person(claimed) }) : "";
  }
}

/** What became of an approval, as a sentence; empty while it waits. @param {Handoff} handoff */
function approvalEnding(handoff) {
  const { status, outcome, closed_by: by, on_timeout: then } = handoff;
  const what = approvalText(handoff);
  if (status !== "closed" || !outcome) return "";
  if (outcome === "timeout") return translate(then === "allow" ? "allowedUnanswered" : "deniedUnanswered", { what });
  if (outcome === "cancelled") return translate("waitsNoMore", { what });
  const known = DECISIONS.find((each) => each === outcome);
  const decision = known ? answerDone(handoff, known) : outcome;
  return translate("decidedBy", { what, decision, name: person(by ?? "") });
}
