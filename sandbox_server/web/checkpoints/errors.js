// What went wrong, in words for a person.

import { person } from "/static/strings.js";
import { visible } from "./format.js";
import { translate } from "./strings.js";

/** @typedef {import("/static/bar/lease.js").Control} Control */

const MAX_REASON = 300;
/** By status, where the status says it all. @type {Record<number, import("./strings.js").StringKey>} */
const BY_STATUS = { 401: "signedOut", 403: "forbidden", 404: "missing", 503: "busy", 504: "slow" };
/** Words of the API's messages, of each status that has several meanings. @type {Record<number, [RegExp, import("./strings.js").StringKey][]>} */
const BY_MESSAGE = {
  409: [[/no box here/, "noBox"], [/no box runs on checkpoint/, "notStarted"]],
  429: [[/the chain has/, "depth"], [/checkpoints take/, "quota"], [/pieces of work/, "busy"]],
};
const OTHERWISE = /** @type {const} */ ({ 409: "conflict", 429: "disk" });

/** @param {unknown} error @param {Control} [control] who drives @returns {string} */
export function explain(error, control) {
  const { status = 0, message = "", name = "" } = /** @type {Partial<import("/static/api.js").ApiError>} */ (error);
  if (status === 423) return refusal(control);
  if (name === "TimeoutError") return translate("slow");
  if (status === 0) return name === "TypeError" ? translate("silent") : translate("failed", { reason: visible(message, MAX_REASON) });
  const key = keyOf(status, message);
  return translate(key, { reason: visible(message, MAX_REASON) });
}

/** @param {number} status @param {string} message */
function keyOf(status, message) {
  const meant = BY_MESSAGE[status]?.find(([words]) => words.test(message))?.[1];
  return meant ?? BY_STATUS[status] ?? OTHERWISE[/** @type {409} */ (status)] ?? "failed";
}

/** Whether room can be made by removing checkpoints. @param {unknown} error */
export function isFull(error) {
  const { status = 0, message = "" } = /** @type {Partial<import("/static/api.js").ApiError>} */ (error);
  return status === 429 && ["depth", "quota"].includes(keyOf(status, message));
}

/** Whether the sandbox keeps no checkpoints at all. @param {unknown} error */
export function isOff(error) {
  const { status = 0, message = "" } = /** @type {Partial<import("/static/api.js").ApiError>} */ (error);
  return status === 409 && keyOf(status, message) === "noBox";
}

/** Why programs may not be stopped now; nothing where they may. @param {Control | undefined} control */
export function hindrance(control) {
  if (control?.state === "frozen") return translate("frozen");
  if (control?.state === "human" && control.holder !== control.you.name) return translate("held", { name: visible(person(control.holder ?? ""), 60) });
  return "";
}

/** @param {Control | undefined} control */
function refusal(control) {
  return hindrance(control) || translate("heldNow");
}
