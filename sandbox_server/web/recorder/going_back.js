// "Go back to before this": asks in an entry that is open, and goes back to the state that the files had before it.

import { listCheckpoints } from "/static/checkpoints/checkpoint_client.js";
import { earlierState } from "/static/checkpoints/earlier_state.js";
import { explain } from "/static/checkpoints/errors.js";
import { nameOf } from "/static/checkpoints/names.js";
import { RestorePlan, restoreOutcome } from "/static/checkpoints/restore_plan.js";
import { element } from "/static/checkpoints/elements.js";
import { translate } from "./strings.js";

/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("/static/checkpoints/checkpoints.js").TandemCheckpoints} TandemCheckpoints */

/** Checkpoints that are marked on the timeline, the newest. */
const MAX_MARKS = 200;

/** The checkpoints that there are, as marks of the timeline. @returns {Promise<import("./timeline.js").Mark[]>} */
export async function checkpointMarks() {
  const { checkpoints } = await listCheckpoints();
  const shown = checkpoints.slice(-MAX_MARKS);
  return shown.map((checkpoint) => ({ from: checkpoint.created, until: checkpoint.created, kind: "checkpoint", title: nameOf(checkpoint, checkpoints), id: checkpoint.id }));
}

/** Open the panel of checkpoints, which asks whether to go back to one. @param {TandemCheckpoints} panel @param {string} id */
export function openCheckpoint(panel, id) {
  if (panel.hidden) return;
  panel.showPopover();
  void panel.ask(id);
}

/** Ask whether the files go back to before a row. @param {TandemCheckpoints} panel knows who may, and who drives @param {Row} row @param {HTMLElement} place */
export async function askToGoBack(panel, row, place) {
  const control = () => panel.bar?.lease.now;
  place.replaceChildren(element("p", "muted", translate("loading")));
  try {
    const earlier = await earlierState({ from: row.from, entry: row.entries[0] });
    const plan = new RestorePlan(earlier, {
      control,
      changes: panel.bar,
      mayLook: panel.rights.look,
      cancelled: () => {
        place.replaceChildren();
        place.closest("li")?.querySelector("button")?.focus();
      },
      done: (done) => {
        const { kept } = done;
        place.replaceChildren(restoreOutcome(earlier.name, done, kept && (() => openCheckpoint(panel, kept.id))));
      },
    });
    place.replaceChildren(plan.element);
    plan.focus();
  } catch (error) {
    place.replaceChildren(element("p", "problem", explain(error, control())));
  }
}
