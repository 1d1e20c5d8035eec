// Who drives: as words, and as the name of the colour that stands for it on every page.

import { person } from "/static/strings.js";
import { translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {"none" | "agent" | "you" | "other" | "shared" | "paused"} Driver */

/** @param {Control} control @returns {string} */
export function driverText(control) {
  const { state, holder, you } = control;
  if (state === "agent") return translate(control.agent_seen ? "agent" : "waiting");
  if (state !== "human") return translate(state);
  const shells = hasShellsAlone(control);
  if (holder !== you.name) return translate(shells ? "otherShells" : "other", { name: person(holder ?? "") });
  return translate(shells ? "youShells" : "you");
}

/** What there is to say beside it. @param {Control} control */
export function driverHint(control) {
  if (control.state === "frozen") return translate("frozenMore");
  return control.state === "human" && hasShellsAlone(control) ? translate("youShellsMore") : "";
}

/** Who drives the screen, or anything where `shells` count. @param {Control} control @param {{shells: boolean}} options @returns {Driver} */
export function driverOf(control, { shells }) {
  const { state, holder, you } = control;
  if (state === "frozen") return "paused";
  if (state === "shared") return "shared";
  if (state === "human" && (shells || !hasShellsAlone(control))) return holder === you.name ? "you" : "other";
  return control.agent_seen ? "agent" : "none";
}

/** Whether the holder has the terminals, and the agent still has the screen. @param {Control} control */
export function hasShellsAlone({ state, scope }) {
  return state === "human" && !scope.includes("gui");
}
