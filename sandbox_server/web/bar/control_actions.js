// What a viewer may do about who drives, as actions.

import { hasShellsAlone } from "./driver.js";
import { translate } from "./strings.js";

/** @typedef {import("./lease.js").Control} Control */
/** @typedef {import("./lease.js").Lease} Lease */
/** @typedef {import("./action_buttons.js").Action} Action */
/**
 * @typedef {object} Page
 * @property {boolean} screen whether the page shows the screen, for what is about the screen alone
 * @property {() => Promise<void>} handBack
 */

/**
 * The actions of a viewer, the main one first; none for who may only watch, and for programs.
 * @param {Control} control
 * @param {Lease} lease
 * @param {Page} page
 * @returns {Action[]}
 */
export function controlActions(control, lease, page) {
  const { you, state } = control;
  if (!you.person || you.role === "view") return [];
  if (state === "frozen") return [action("thaw", () => lease.do("thaw")), action("take", () => lease.do("take"), { quiet: true })];
  const pause = action("stop", () => lease.do("freeze"), { quiet: true, danger: true });
  return [...driving(control, lease, page), pause];
}

/** @param {Control} control @param {Lease} lease @param {Page} page @returns {Action[]} */
function driving(control, lease, page) {
  const { you, state, holder, requests, take } = control;
  if (state === "shared") return [action("unshare", () => lease.do("release"))];
  if (holder === you.name) return holding(control, lease, page);
  if (requests.some((request) => request.subject === you.name)) return [action("cancel", () => lease.answer(you.name, false), { quiet: true })];
  if (state === "human" || take === "ask") {
    const seize = action("seize", () => lease.do("take"), { quiet: true });
    return [action("ask", () => lease.do("request")), ...(holder && you.role === "admin" ? [seize] : [])];
  }
  const hide = action("private", () => lease.do("private"), { quiet: true });
  return [action("take", () => lease.do("take")), ...(page.screen && control.agent_seen ? [hide] : [])];
}

/** @param {Control} control @param {Lease} lease @param {Page} page @returns {Action[]} */
function holding(control, lease, page) {
  const hide = control.private
    ? { ...action("public", () => lease.do("public"), { quiet: true }), id: "private" }
    : action("private", () => lease.do("private"), { quiet: true });
  return [
    action("back", page.handBack),
    ...(hasShellsAlone(control) ? [action("take", () => lease.do("take"), { quiet: true })] : []),
    ...(page.screen || control.private ? [hide] : []),
    ...(page.screen ? [action("share", () => lease.give("shared"), { quiet: true })] : []),
  ];
}

/**
 * @param {"take" | "ask" | "cancel" | "seize" | "back" | "private" | "public" | "share" | "unshare" | "stop" | "thaw"} id
 * @param {() => Promise<void>} act
 * @param {Partial<Action>} [look]
 * @returns {Action}
 */
function action(id, act, look = {}) {
  return { id, text: translate(id), act, ...look };
}
