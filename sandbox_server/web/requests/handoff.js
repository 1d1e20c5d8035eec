// What an agent asks of a person, and in which way it is answered.

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {boolean} secret whether its value goes only to the page
 * @property {string | null} [origin] of the page that a secret goes to
 *
 * @typedef {object} Handoff
 * @property {string} id
 * @property {"login" | "captcha" | "otp" | "payment" | "choice" | "confirm" | "free" | "approve"} kind
 * @property {string} reason
 * @property {string} instructions
 * @property {string | null} url
 * @property {{x: number, y: number, width: number, height: number} | null} region
 * @property {string[]} choices
 * @property {Field[]} fields
 * @property {Approval | null} [approval] what is to be allowed
 * @property {string[]} [dropped] the secret fields that were filled in
 * @property {number} [created_at] in seconds since the epoch
 * @property {number} deadline_at
 * @property {"give_up" | "continue" | "deny" | "allow"} [on_timeout]
 * @property {string | null} claimed_by
 * @property {"open" | "claimed" | "closed"} [status]
 * @property {string | null} [outcome]
 * @property {string | null} [closed_by]
 *
 * @typedef {"network" | "shell" | "navigation" | "download" | "submit" | "tool"} Subject
 * @typedef {"once" | "task" | "always" | "deny"} Decision
 * @typedef {{covers: string, seconds: number | null, rule: string | null}} Effect what an answer allows, and the rule that it writes as JSON
 * @typedef {{subject: Subject, rule: string, details: Record<string, string>, answers: Decision[], effects?: Partial<Record<Decision, Effect>>}} Approval
 * @typedef {"yesNo" | "choices" | "form" | "text" | "drive"} Way
 */

/** The most that is shown: the server's own limits, which a page does not rely on. */
export const MAX_CHOICES = 12;
export const MAX_FIELDS = 12;

/** Kinds that somebody may have to drive for, even where the request has a form. */
const DRIVEN = ["login", "captcha", "otp", "payment", "free"];
/** Longest reason that fits a line of the bar. */
const SHORT_CHARS = 140;

/** How a request is answered: in place, or, for `drive`, by somebody who takes it on. @param {Handoff} handoff @returns {Way} */
export function wayOf({ kind, choices = [], fields = [] }) {
  if (fields.length) return "form";
  if (choices.length) return "choices";
  if (kind === "confirm") return "yesNo";
  return kind === "otp" || kind === "choice" ? "text" : "drive";
}

/** Whether somebody may have to drive for it. @param {Handoff} handoff */
export function mayNeedDriving({ kind }) {
  return DRIVEN.includes(kind);
}

/** Whether all that there is to know stands in one line, so that it can be answered beside it. @param {Handoff} handoff */
export function isShort(handoff) {
  return wayOf(handoff) === "yesNo" && !handoff.instructions && !handoff.region && handoff.reason.length <= SHORT_CHARS && !/\n/.test(handoff.reason);
}

/** Whether it is answered by allowing or denying an act that waits. @param {Pick<Handoff, "kind">} handoff */
export const isApproval = ({ kind }) => kind === "approve";
