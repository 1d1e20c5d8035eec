// What whoever watches is told of a checkpoint: who made it or went back to it, and what stopped.

import { listCheckpoints } from "./checkpoint_client.js";
import { visible } from "./format.js";
import { stateName, whoOf } from "./names.js";
import { translate, translateCount } from "./strings.js";

const MAX_LABEL = 80;
const MAX_NAMES = 160;
/** The end of the server's note. What is before it is a label or an id, which anybody chose. */
const STOPPED = /^(?:no programs were stopped|(\d{1,9}) programs? (?:was|were) stopped: (.*))$/s;

/**
 * @param {{kind: string, by: string, note?: string}} change
 * @param {string} you
 * @returns {Promise<string>}
 */
export async function announcement({ kind, by, note = "" }, you) {
  const cut = note.lastIndexOf("; ");
  const what = cut < 0 ? "" : note.slice(0, cut);
  const who = by.includes("#") ? whoOf(by, you) : translate("theAgent");
  return [await said(kind, who, what), stopped(note.slice(cut < 0 ? 0 : cut + 2))].filter(Boolean).join(" ");
}

/** @param {string} kind @param {string} who @param {string} what the label, or the id of the state */
async function said(kind, who, what) {
  if (kind === "checkpoint:restored") return translate("toldRestored", { who, name: await nameOfState(what) });
  const name = visible(what, MAX_LABEL).trim();
  return translate(name ? "toldMade" : "toldMadeBare", { who, name });
}

/** @param {string} id */
async function nameOfState(id) {
  const { checkpoints } = await listCheckpoints().catch(() => ({ checkpoints: [] }));
  return stateName(id, checkpoints);
}

/** @param {string} text */
function stopped(text) {
  const found = STOPPED.exec(text);
  if (!found) return "";
  const [, count, names] = found;
  return count ? translateCount("stopped", Number(count), { names: visible(names, MAX_NAMES).replace(/\.+$/, "…") }) : translate("stoppedNone");
}
