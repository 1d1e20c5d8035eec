// States, times and drivers in words.

/** @typedef {import("./service.js").Sandbox} Sandbox */
/** @typedef {import("./service.js").Question} Question */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** By state: how it is marked. */
export const STATES = /** @type {Record<string, string>} */ ({
  ready: "good", creating: "waiting", starting: "waiting", paused: "still", stopping: "waiting", stopped: "still", failed: "bad",
});

/** By kind of a request: what it is called. */
const KINDS = /** @type {Record<string, string>} */ ({
  login: "Sign-in", captcha: "CAPTCHA", otp: "One-time code", payment: "Payment", choice: "Choice", confirm: "Confirmation", free: "Help", approve: "Approval",
});

/** A length of time in its largest unit. @param {number} seconds */
export function length(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole >= DAY) return `${Math.floor(whole / DAY)} d`;
  if (whole >= HOUR) return `${Math.floor(whole / HOUR)} h`;
  if (whole >= MINUTE) return `${Math.floor(whole / MINUTE)} min`;
  return `${whole} s`;
}

/** How long ago a time is. @param {string} at @param {number} now in milliseconds */
export const age = (at, now) => length((now - Date.parse(at)) / 1000);

/** Seconds until a request ends. @param {Question} question @param {number} now in milliseconds */
export const secondsLeft = (question, now) => (Date.parse(question.ends_at) - now) / 1000;

/** How urgent a request is: 0 within two minutes, 1 within a quarter of an hour, 2 later. @param {Question} question @param {number} now */
export function urgency(question, now) {
  const left = secondsLeft(question, now);
  return left < 2 * MINUTE ? 0 : left < 15 * MINUTE ? 1 : 2;
}

/** @param {string} kind */
export const kindWord = (kind) => (Object.hasOwn(KINDS, kind) ? KINDS[kind] : KINDS.free);

/** A person's name without the number of the browser. @param {string} name */
export const person = (name) => name.replace(/^token:/, "").split("#")[0];

/** Who drives, in words, and as what it is marked. @param {Sandbox} sandbox @returns {[string, string]} */
export function driver({ state, driver }) {
  if (state !== "ready" || !driver) return ["", ""];
  if (driver.private) return [`${person(driver.holder) || "Somebody"} drives in private`, "private"];
  if (driver.state === "human") return [`${person(driver.holder) || "A person"} drives`, "other"];
  if (driver.state === "shared") return ["Everybody drives", "other"];
  return driver.state === "frozen" ? ["The agent is paused", "paused"] : ["The agent drives", "agent"];
}
