// What a checkpoint, a person and programs are called on the page.

import { person } from "/static/strings.js";
import { IMAGE } from "./checkpoint_client.js";
import { visible } from "./format.js";
import { translate } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Checkpoint} Checkpoint */

const MAX_LABEL = 80;
const MAX_PROGRAM = 30;
/** Programs that are named. */
const NAMED = 5;
/** How the server labels what it makes by itself. */
const BEFORE_RESTORE = /^before restoring (the image|[0-9a-f]{8})$/;
const BEFORE_RISK = /^before (.+)$/;

/** Whether nobody asked for it. @param {Checkpoint} checkpoint */
export const isAutomatic = ({ why }) => why === "before_restore" || why === "before_risk";

/** @param {Checkpoint} checkpoint @param {Checkpoint[]} all @returns {string} */
export function nameOf({ label, why }, all) {
  const text = visible(label, MAX_LABEL);
  if (why === "before_restore") return beforeRestore(text, all);
  if (why === "before_risk") return translate("beforeRisk", { operation: BEFORE_RISK.exec(text)?.[1] ?? text });
  return text.trim() || translate(why === "imported" ? "imported" : "unnamed");
}

/** @param {string} label @param {Checkpoint[]} all */
function beforeRestore(label, all) {
  const target = BEFORE_RESTORE.exec(label)?.[1];
  if (!target) return label || translate("unnamed");
  const found = all.find(({ id }) => id === target);
  const nested = found?.why === "before_restore"; // or names would grow without end
  return translate("beforeRestore", { name: target === "the image" ? translate("image") : found && !nested ? nameOf(found, []) : found ? shortName(found) : translate("gone") });
}

/** @param {Checkpoint} checkpoint */
const shortName = ({ id }) => id.slice(0, 8);

/** The name of a state, by its id. @param {string} id a checkpoint or the image @param {Checkpoint[]} all */
export function stateName(id, all) {
  if (id === IMAGE) return translate("image");
  const found = all.find((checkpoint) => checkpoint.id === id);
  return found ? nameOf(found, all) : visible(id, 8);
}

/** Who did it. People's names have the start of their session. @param {string} who @param {string} [you] */
export function whoOf(who, you = "") {
  if (who && who === you) return translate("you");
  const name = visible(person(who), 60);
  return who.includes("#") ? name : [translate("agent"), name === "unknown" ? "" : name].filter(Boolean).join(" · ");
}

/** The names of programs, those that there are most of first. @param {import("./checkpoint_client.js").Program[]} programs */
export function programNames(programs) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { command } of programs) {
    const name = programName(command);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const names = [...counts].sort(([, one], [, other]) => other - one).map(([name, count]) => (count > 1 ? `${name} ×${count}` : name));
  return [...names.slice(0, NAMED), ...(names.length > NAMED ? ["…"] : [])].join(", ");
}

/** @param {unknown} command */
function programName(command) {
  const [first] = String(command).trim().split(/\s/, 1);
  return visible(first.slice(first.lastIndexOf("/") + 1) || first, MAX_PROGRAM);
}
