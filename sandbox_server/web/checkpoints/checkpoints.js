// <tandem-checkpoints>: the checkpoints of the files. Make one, compare, go back. Who may not sees nothing of it.
// As a popover it is read when it opens; whatever opens it (`popovertarget`) is hidden from who may not, too.

import "/static/bar/bar.js";
import { call } from "/static/api.js";
import { listCheckpoints, makeCheckpoint, pruneCheckpoints } from "./checkpoint_client.js";
import { CheckpointRow, rowId, rowsOf } from "./checkpoint_row.js";
import { button, element } from "./elements.js";
import { explain, isFull, isOff } from "./errors.js";
import { nameOf, stateName } from "./names.js";
import { ProgressLine } from "./progress.js";
import { ofPrograms, restoreOutcome } from "./restore_plan.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Checkpoint} Checkpoint */
/** @typedef {import("./checkpoint_client.js").CheckpointList} CheckpointList */
/** @typedef {import("/static/bar/lease.js").Control} Control */

/** Checkpoints that are shown at first, and with each "Show more". */
const SHOWN = 8;
const MAX_LABEL = 200;
/** The files of a new checkpoint are counted after it was made: it is asked for again so often. */
const COUNT_MS = 2000;
const COUNT_TRIES = 5;

export class TandemCheckpoints extends HTMLElement {
  rights = { make: false, look: false };
  /** @type {CheckpointList} */
  list = { head: null, checkpoints: [] };
  /** @type {Map<string, CheckpointRow>} */
  #rows = new Map();
  #room = SHOWN;
  #tries = 0;
  /** Whether it is open, as a popover. */
  #open = false;
  /** Grows with every reading, so that an older answer counts no more. */
  #reading = 0;
  #latest = Promise.resolve();

  connectedCallback() {
    if (this.childElementCount) return;
    this.hidden = true;
    this.#showOpener(false);
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", translate("title"));
    this.#build();
    this.bar?.addEventListener("control", (event) => this.#changed(/** @type {CustomEvent} */ (event).detail));
    this.addEventListener("toggle", (event) => {
      this.#open = /** @type {any} */ (event).newState === "open";
      if (this.#open) this.refresh();
    });
    addEventListener("focus", () => this.#wanted() && this.refresh());
    this.#begin();
  }

  /** Who drives, as the bar knows. @returns {import("/static/bar/bar.js").TandemBar | null} */
  get bar() {
    return document.querySelector("tandem-bar");
  }

  /** Read the list again. @returns {Promise<void>} */
  refresh() {
    this.#latest = this.#read(++this.#reading);
    return this.#latest;
  }

  /** @param {number} reading */
  async #read(reading) {
    const found = await listCheckpoints().then((list) => ({ list }), (error) => ({ error }));
    if (reading !== this.#reading) return this.#latest;
    if ("error" in found) return this.#refuse(found.error);
    this.list = found.list;
    this.#draw();
    this.#countLater();
  }

  /** Ask whether to go back to a checkpoint. @param {string} id */
  async ask(id) {
    await this.refresh();
    const place = rowsOf(this.list.checkpoints).findIndex((checkpoint) => rowId(checkpoint) === id);
    if (place < 0) return;
    this.#room = Math.max(this.#room, place + 1);
    this.#draw();
    this.#rows.get(id)?.ask();
  }

  #build() {
    this.label = /** @type {HTMLInputElement} */ (document.createElement("input"));
    Object.assign(this.label, { name: "label", maxLength: MAX_LABEL, placeholder: translate("label"), autocomplete: "off" });
    this.label.setAttribute("aria-label", translate("label"));
    this.make = button(translate("make"), () => {}, "");
    this.make.type = "submit";
    this.form = element("form", "make");
    this.form.append(this.label, this.make);
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.#make();
    };
    this.progress = new ProgressLine(element("p", "progress"));
    this.progress.place.setAttribute("role", "status");
    this.outcome = element("div");
    this.rows = element("ul", "kept");
    this.more = button("", () => this.#showMore());
    const title = element("div", "title");
    title.append(element("h2", "", translate("title")), button(translate("close"), () => this.hidePopover()));
    this.append(title, element("p", "muted", translate("about")), this.form, this.progress.place, this.outcome, this.rows, this.more);
    this.more.hidden = true;
  }

  async #begin() {
    try {
      const { scopes } = await call("GET", "/auth", { whole: true });
      const allowed = scopes.split(" ");
      this.rights = { make: allowed.includes("shell"), look: allowed.includes("files") };
    } catch {
      return; // the bar says what is wrong
    }
    this.hidden = !(this.rights.make || this.rights.look);
    /** @type {HTMLElement} */ (this.form).hidden = !this.rights.make;
    this.#showOpener(!this.hidden);
    if (this.#wanted()) await this.refresh();
  }

  /** @param {boolean} shown */
  #showOpener(shown) {
    const opener = this.id && /** @type {HTMLElement | null} */ (document.querySelector(`[popovertarget="${this.id}"]`));
    if (opener) opener.hidden = !shown;
  }

  /** Whether somebody sees it. */
  #wanted() {
    return !this.hidden && (!this.hasAttribute("popover") || this.#open);
  }

  /** @param {{control: Control, kind: string}} change */
  #changed({ kind }) {
    if (kind.startsWith("checkpoint:") && this.#wanted()) this.refresh();
  }

  #draw() {
    const { head, checkpoints } = this.list;
    const rows = rowsOf(checkpoints);
    const shown = rows.slice(0, this.#room).map((checkpoint) => {
      const id = rowId(checkpoint);
      const row = this.#rows.get(id) ?? new CheckpointRow(id, this.#actions());
      row.show(checkpoint, checkpoints, head);
      return row;
    });
    this.#rows = new Map(shown.map((row) => [row.id, row]));
    this.#arrange(checkpoints.length ? shown.map((row) => row.element) : [element("li", "muted", translate("empty")), ...shown.map((row) => row.element)]);
    const left = rows.length - shown.length;
    const more = /** @type {HTMLElement} */ (this.more);
    more.hidden = left <= 0;
    more.textContent = translate("more", { count: left });
  }

  /** Rows that stay keep their place and the focus. @param {HTMLElement[]} items */
  #arrange(items) {
    const place = /** @type {HTMLElement} */ (this.rows);
    for (const old of [...place.children]) if (!items.includes(/** @type {HTMLElement} */ (old))) old.remove();
    items.forEach((item, index) => {
      if (place.children[index] === item) return;
      const before = place.children[index - 1];
      if (before) before.after(item);
      else place.replaceChildren(item, ...place.children);
    });
  }

  /** @returns {import("./checkpoint_row.js").ListActions} */
  #actions() {
    return { control: () => this.bar?.lease.now, changes: this.bar, rights: this.rights, restored: (id, done) => this.#restored(id, done) };
  }

  #showMore() {
    this.#room += SHOWN;
    this.#draw();
  }

  async #make() {
    const label = /** @type {HTMLInputElement} */ (this.label);
    const progress = /** @type {ProgressLine} */ (this.progress);
    const make = /** @type {HTMLButtonElement} */ (this.make);
    make.disabled = true;
    this.outcome?.replaceChildren();
    try {
      const made = await progress.during("making", () => makeCheckpoint(label.value.trim()));
      label.value = "";
      const still = made.pause_ms === null ? ofPrograms("stopped", made.stopped) : translate("stoodStill", { count: Math.ceil(made.pause_ms) });
      progress.show(`${translate("made", { name: nameOf(made.checkpoint, []) })} ${still}`);
      this.#tries = 0;
      await this.refresh();
    } catch (error) {
      this.#failed(error);
    } finally {
      make.disabled = false;
    }
  }

  /** @param {string} id @param {import("./checkpoint_client.js").Restored} done */
  async #restored(id, done) {
    const before = done.kept?.id ?? this.list.head;
    const name = stateName(id, this.list.checkpoints);
    const undo = before && before !== id ? () => void this.ask(before) : null;
    this.progress?.show("");
    const outcome = restoreOutcome(name, done, undo);
    this.outcome?.replaceChildren(outcome);
    outcome.scrollIntoView({ block: "nearest" });
    outcome.querySelector("button")?.focus();
    this.#tries = 0;
    await this.refresh();
  }

  /** @param {unknown} error */
  #failed(error) {
    this.progress?.show(explain(error, this.bar?.lease.now), true);
    if (isFull(error)) this.outcome?.replaceChildren(button(translate("prune"), () => void this.#prune()));
  }

  async #prune() {
    this.outcome?.replaceChildren();
    try {
      const { removed } = await pruneCheckpoints();
      this.progress?.show(translateCount("pruned", removed.length));
      await this.refresh();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** @param {unknown} error */
  #refuse(error) {
    this.rows?.replaceChildren(element("li", "muted", explain(error)));
    this.#rows = new Map();
    /** @type {HTMLElement} */ (this.more).hidden = true;
    if (isOff(error)) /** @type {HTMLElement} */ (this.form).hidden = true;
  }

  #countLater() {
    if (this.#tries >= COUNT_TRIES || !this.list.checkpoints.some(({ files }) => files === null)) return;
    this.#tries++;
    setTimeout(() => this.#wanted() && this.refresh(), COUNT_MS);
  }
}

customElements.define("tandem-checkpoints", TandemCheckpoints);
