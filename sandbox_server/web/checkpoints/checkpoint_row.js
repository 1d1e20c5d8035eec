// One checkpoint of the list: what it is, and what can be done with it, which opens below.

import { IMAGE } from "./checkpoint_client.js";
import { Comparison } from "./comparison.js";
import { button, element, name } from "./elements.js";
import { size, visible, when } from "./format.js";
import { isAutomatic, nameOf, whoOf } from "./names.js";
import { RestorePlan } from "./restore_plan.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Checkpoint} Checkpoint */

const MAX_TOOLTIP = 200;

/**
 * @typedef {object} ListActions
 * @property {() => import("/static/bar/lease.js").Control | undefined} control
 * @property {EventTarget | null} changes tells of `control` when that changes
 * @property {{make: boolean, look: boolean}} rights
 * @property {(id: string, done: import("./checkpoint_client.js").Restored) => void} restored
 */

export class CheckpointRow {
  element = element("li", "checkpoint");
  #shown = "";
  /** @type {"plan" | "comparison" | null} */
  #open = null;

  /** @param {string} id of a checkpoint, or the image @param {ListActions} actions */
  constructor(id, actions) {
    this.id = id;
    this.actions = actions;
    this.element.dataset.id = id;
    this.head = element("div", "head");
    this.about = element("p", "muted");
    this.below = element("div", "below");
    this.compare = button(translate("compare"), () => this.#toggle("comparison"));
    this.back = button(translate("back"), () => this.#toggle("plan"));
    const tools = element("div", "tools");
    tools.append(...(actions.rights.make ? [this.back] : []), ...(actions.rights.look ? [this.compare] : []));
    this.element.append(this.head, this.about, tools, this.below);
    this.#expanded();
  }

  /** @param {Checkpoint | null} checkpoint null: the image @param {Checkpoint[]} all @param {string | null} head where the files stand */
  show(checkpoint, all, head) {
    this.all = all;
    this.name = checkpoint ? nameOf(checkpoint, all) : translate("image");
    const current = head === (checkpoint?.id ?? null);
    const about = checkpoint ? this.#facts(checkpoint) : translate("imageAbout");
    const now = JSON.stringify([this.name, current, about]);
    if (now === this.#shown) return;
    this.#shown = now;
    this.about.textContent = about;
    this.head.replaceChildren(
      name(this.name, visible(checkpoint?.label, MAX_TOOLTIP) || this.name),
      ...(checkpoint && isAutomatic(checkpoint) ? [element("span", "tag", translate("automatic"))] : []),
      ...(current ? [this.#current()] : []),
    );
    for (const each of [this.back, this.compare]) each.setAttribute("aria-label", `${each.textContent} ${this.name}`);
  }

  /** Ask whether to go back to it. */
  ask() {
    if (this.#open !== "plan") this.#toggle("plan");
  }

  /** Close what is open. */
  close() {
    this.#open = null;
    this.below.replaceChildren();
    this.#expanded();
  }

  #current() {
    const badge = element("span", "tag current", translate("current"));
    badge.title = translate("currentTitle");
    return badge;
  }

  /** @param {Checkpoint} checkpoint */
  #facts({ who, created, files, bytes }) {
    const you = this.actions.control()?.you.name;
    const taken = files === null || bytes === null ? [] : [translateCount("files", files), size(bytes)];
    return [when(created), whoOf(who, you), ...taken].join(" · ");
  }

  /** @param {"plan" | "comparison"} what */
  #toggle(what) {
    const opens = this.#open !== what;
    this.close();
    if (!opens) return;
    this.#open = what;
    this.#expanded();
    if (what === "comparison") this.below.append(new Comparison(this.id, this.all ?? []).element);
    else this.#plan();
  }

  #plan() {
    const plan = new RestorePlan(
      { id: this.id, name: this.name ?? "" },
      {
        control: this.actions.control,
        changes: this.actions.changes,
        mayLook: this.actions.rights.look,
        cancelled: () => {
          this.close();
          this.back.focus();
        },
        done: (done) => {
          this.close();
          this.actions.restored(this.id, done);
        },
      },
    );
    this.below.append(plan.element);
    plan.focus();
  }

  #expanded() {
    this.back.setAttribute("aria-expanded", String(this.#open === "plan"));
    this.compare.setAttribute("aria-expanded", String(this.#open === "comparison"));
  }
}

/** The rows' order: the newest first, and the image at last. @param {Checkpoint[]} all the oldest first @returns {(Checkpoint | null)[]} */
export const rowsOf = (all) => [...all.toReversed(), null];

/** @param {Checkpoint | null} checkpoint */
export const rowId = (checkpoint) => checkpoint?.id ?? IMAGE;
