// Going back to a checkpoint: says what would stop and what would change, asks, goes back, and offers the way back from there.

import { ChangeTree } from "./change_tree.js";
import { CURRENT, previewRestore, restoreCheckpoint } from "./checkpoint_client.js";
import { button, element } from "./elements.js";
import { explain, hindrance } from "./errors.js";
import { programNames } from "./names.js";
import { ProgressLine } from "./progress.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Program} Program */
/** @typedef {import("./checkpoint_client.js").Restored} Restored */

/** Programs that the API names, at most. */
const MAX_PROGRAMS = 100;

/**
 * @typedef {object} RestoreActions
 * @property {() => import("/static/bar/lease.js").Control | undefined} control who drives
 * @property {EventTarget | null} [changes] tells of `control` when that changes
 * @property {boolean} mayLook whether the caller may see what differs
 * @property {(done: Restored) => void} done
 * @property {() => void} cancelled
 */

export class RestorePlan {
  element = element("section", "plan");

  /** @param {{id: string, name: string, about?: (string | Promise<string>)[]}} target `about`: sentences beside the usual @param {RestoreActions} actions */
  constructor({ id, name, about = [] }, actions) {
    this.id = id;
    this.actions = actions;
    const asked = translate("ask", { name });
    this.element.setAttribute("aria-label", asked);
    this.element.setAttribute("tabindex", "-1");
    this.stops = element("p", "", translate("checking"));
    this.keeps = element("p", "muted");
    this.progress = new ProgressLine(element("p", "progress"));
    this.progress.place.setAttribute("role", "status");
    this.go = button(translate("go"), () => this.#go(), "danger");
    this.go.disabled = true;
    this.cancel = button(translate("cancel"), () => actions.cancelled(), "quiet");
    const tools = element("div", "tools");
    tools.append(this.go, this.cancel);
    this.warning = element("p", "problem");
    this.element.append(
      element("h3", "", asked), ...about.map(sentence), this.warning,
      this.stops, this.keeps, ...this.#changes(), this.progress.place, tools,
    );
    this.element.addEventListener("keydown", (event) => this.#key(/** @type {KeyboardEvent} */ (event)));
    this.#warn();
    this.#follow(actions.changes);
    this.#look();
  }

  /** Have the keyboard here. */
  focus() {
    this.element.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  #warn() {
    this.warning.textContent = hindrance(this.actions.control());
    this.warning.hidden = !this.warning.textContent;
  }

  /** Warn as who drives changes, for as long as this is shown. @param {EventTarget | null} [changes] */
  #follow(changes) {
    const changed = () => (this.element.isConnected ? this.#warn() : changes?.removeEventListener("control", changed));
    changes?.addEventListener("control", changed);
  }

  /** @returns {HTMLElement[]} */
  #changes() {
    if (!this.actions.mayLook) return [];
    const tree = new ChangeTree({ older: this.id, newer: CURRENT }, { back: true });
    tree.open();
    return [element("h4", "", translate("willChange")), tree.element];
  }

  async #look() {
    try {
      const { stops, changed } = await previewRestore(this.id);
      this.stops.textContent = ofPrograms("stops", stops);
      this.keeps.textContent = translate(changed ? "keeps" : "keepsNone");
      this.go.disabled = false;
    } catch (error) {
      this.stops.textContent = "";
      this.progress.show(explain(error, this.actions.control()), true);
    }
  }

  async #go() {
    this.go.disabled = this.cancel.disabled = true;
    try {
      this.actions.done(await this.progress.during("going", () => restoreCheckpoint(this.id)));
    } catch (error) {
      this.progress.show(explain(error, this.actions.control()), true);
      this.go.disabled = this.cancel.disabled = false;
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "Escape" || this.cancel.disabled) return;
    event.preventDefault(); // or a panel around it would close, too
    event.stopPropagation();
    this.actions.cancelled();
  }
}

/** A sentence, which may come later. @param {string | Promise<string>} text */
function sentence(text) {
  const made = element("p", "about", typeof text === "string" ? text : translate("loading"));
  if (typeof text !== "string") text.then((known) => (made.textContent = known), () => made.remove());
  return made;
}

/** What stops, or was stopped. @param {"stops" | "stopped"} key @param {Program[]} programs */
export function ofPrograms(key, programs) {
  if (!programs.length) return translate(`${key}None`);
  const values = { names: programNames(programs) };
  return programs.length < MAX_PROGRAMS ? translateCount(key, programs.length, values) : translate(`${key}Many`, { count: programs.length, ...values });
}

/**
 * What a restore did, with the way back.
 * @param {string} name of the state that is there again
 * @param {Restored} done
 * @param {(() => void) | null} undo
 */
export function restoreOutcome(name, done, undo) {
  const place = element("div", "outcome");
  place.setAttribute("role", "status");
  place.append(element("p", "", `${translate("went", { name })} ${ofPrograms("stopped", done.stopped)}`));
  if (undo) place.append(button(translate("undo"), undo));
  return place;
}
