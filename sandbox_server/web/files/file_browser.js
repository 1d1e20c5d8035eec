// The file browser: shows the folder that the page's address names, follows its changes, and does what the person asks.

import { isHidden, nameText } from "./entries.js";
import { FileTable } from "./file_table.js";
import { FileError, list, makeFolder, move, remove, search } from "./file_client.js";
import { hrefOf, isName, join, parentOf, placeOf, steps } from "./paths.js";
import { reason } from "./reasons.js";
import { RowMenu } from "./row_menu.js";
import { translate } from "./strings.js";
import { element } from "/static/home/elements.js";

/** @typedef {import("./entries.js").Entry} Entry @typedef {import("./preview.js").Preview} Preview @typedef {import("./question.js").Question} Question */
/** @typedef {{listing: HTMLElement, path: HTMLElement, state: HTMLElement, menu: HTMLElement}} Parts */

/** Between two looks at a folder, at least; a folder that takes long is looked at less often. */
const LOOK_MS = 5000;
const SHARE = 20;

export class FileBrowser {
  /** The folder that is shown. */
  folder = "";
  hidden = false;
  #text = "";
  /** @type {Entry[]} */
  #entries = [];
  #total = 0;
  #drawn = "";
  #loads = 0;

  /**
   * @param {Parts} parts
   * @param {{preview: Preview, question: Pick<Question, "ask">, notify: (text: string) => void}} beside
   */
  constructor(parts, { preview, question, notify }) {
    this.parts = parts;
    this.preview = preview;
    this.question = question;
    this.notify = notify;
    const menu = new RowMenu(parts.menu, { rename: (entry) => this.#rename(entry), remove: (entry) => this.#remove(entry) });
    this.table = new FileTable(parts.listing, { menu: (entry, button) => menu.show(entry, button), more: () => this.#listMore() });
  }

  /** Show what an address names. @param {string} hash @param {string} start the folder where it names none */
  async go(hash, start) {
    const { folder, open } = placeOf(hash);
    const path = folder || start;
    if (path !== this.folder) {
      this.#text = "";
      [this.folder, this.#entries, this.#total, this.#drawn] = [path, [], 0, ""];
      this.#drawPath();
      this.parts.state.textContent = translate("loading");
      this.table.show([]);
      await this.refresh();
    }
    await this.#open(open);
  }

  /** Look at the folder again. */
  async refresh() {
    const load = ++this.#loads;
    const { folder } = this;
    try {
      const found = await list(folder);
      if (load !== this.#loads) return;
      const kept = this.#entries.length > found.files.length && found.total_count === this.#total ? this.#entries.slice(found.files.length) : [];
      [this.#entries, this.#total] = [[...found.files, ...kept], found.total_count];
      this.draw();
    } catch (error) {
      if (load === this.#loads) this.#drawFailure(error);
    }
  }

  /** Look again and again while the page is visible. */
  async follow() {
    const began = performance.now();
    if (!document.hidden && this.folder && !this.#text && !this.parts.menu.matches(":popover-open")) await this.#followOnce();
    setTimeout(() => this.follow(), Math.max(LOOK_MS, (performance.now() - began) * SHARE));
  }

  async #followOnce() {
    await this.refresh();
    const shown = this.#entries.find(({ path }) => path === this.preview.path);
    if (shown) await this.preview.show(shown.path, shown.name, version(shown));
  }

  /** Show or hide the names that begin with a dot. @param {boolean} hidden */
  showHidden(hidden) {
    this.hidden = hidden;
    if (this.#text) return this.search(this.#text);
    this.draw();
  }

  /** Draw the folder, unless it is drawn as it is. */
  draw() {
    const shown = this.#entries.filter((entry) => this.hidden || !isHidden(entry));
    const drawn = JSON.stringify([this.folder, this.#total, shown]);
    if (drawn === this.#drawn) return;
    const again = this.#drawn !== "";
    this.#drawn = drawn;
    this.table.show(shown, { elsewhere: this.#total - this.#entries.length, again });
    this.parts.state.textContent = this.#summary(shown);
  }

  /** @param {Entry[]} shown */
  #summary(shown) {
    const hidden = this.#entries.length - shown.length;
    const folders = shown.filter((entry) => entry.is_directory).length;
    if (!shown.length) return translate(hidden ? "onlyHidden" : "empty", { hidden });
    return translate(hidden ? "countHidden" : "count", { folders, files: this.#total - hidden - folders, hidden });
  }

  /** Get the next page of a folder with very many entries. */
  async #listMore() {
    await this.#do(async () => {
      const { folder } = this;
      const found = await list(folder, this.#entries.length);
      if (folder !== this.folder) return;
      this.#entries = [...this.#entries, ...found.files];
      this.#total = found.files.length ? found.total_count : this.#entries.length;
      this.draw();
    });
  }

  /** Show what has a text in its name, at any depth; without one, the folder. @param {string} text */
  async search(text) {
    this.#text = text.trim();
    this.#drawn = "";
    if (!this.#text) return this.refresh();
    const load = ++this.#loads;
    const said = { path: nameText(this.folder), text: nameText(this.#text) };
    this.parts.state.textContent = translate("loading");
    try {
      const found = await search(this.folder, this.#text, this.hidden);
      if (load !== this.#loads) return;
      this.table.show(found.files, { below: this.folder });
      const count = found.files.length;
      this.parts.state.textContent = translate(!count ? "foundNone" : found.truncated ? "foundMany" : "found", { ...said, count });
    } catch (error) {
      if (load === this.#loads) this.#drawFailure(error);
    }
  }

  /** Show a file of the folder in the preview. @param {string} name */
  async #open(name) {
    if (!name || !isName(name)) {
      this.preview.close();
      return this.table.mark("");
    }
    const path = join(this.folder, name);
    this.table.mark(path);
    const entry = this.#entries.find((each) => each.path === path);
    await this.preview.show(path, name, entry ? version(entry) : "");
  }

  /** Ask for a name, and make a folder of it. */
  async create() {
    const folder = this.folder;
    const asked = await this.#askName(translate("newFolderTitle", { path: nameText(folder) }), translate("folderName"), "", translate("create"));
    if (asked) await this.#change(() => makeFolder(join(folder, asked)), translate("created", { name: nameText(asked) }));
  }

  /** @param {Entry} entry */
  async #rename(entry) {
    const asked = await this.#askName(translate("renameTitle", { name: nameText(entry.name) }), translate("newName"), entry.name, translate("rename"));
    if (!asked || asked === entry.name) return;
    const target = join(parentOf(entry.path), asked);
    const opened = this.preview.path === entry.path;
    const done = await this.#change(() => move(entry.path, target), translate("renamed", { name: nameText(asked) }));
    if (done && opened) location.replace(hrefOf(parentOf(target), asked));
  }

  /** @param {Entry} entry */
  async #remove(entry) {
    const text = translate(entry.is_symlink ? "deleteLink" : entry.is_directory ? "deleteFolder" : "deleteFile");
    const asked = await this.question.ask({ title: translate("deleteTitle", { name: nameText(entry.name) }), text, answers: [["delete", translate("delete")]] });
    if (!asked) return;
    const opened = this.preview.path === entry.path;
    const done = await this.#change(() => remove(entry), translate("deleted", { name: nameText(entry.name) }));
    if (done && opened) location.replace(hrefOf(this.folder));
  }

  /** @param {string} title @param {string} label @param {string} value @param {string} said */
  async #askName(title, label, value, said) {
    const check = (/** @type {string} */ name) => (isName(name) ? "" : translate("slash"));
    const asked = await this.question.ask({ title, field: { label, value, check }, answers: [["ok", said]] });
    return asked?.value ?? "";
  }

  /** Change something, say so, and show it. @param {() => Promise<unknown>} act @param {string} said @returns {Promise<boolean>} whether it was done */
  async #change(act, said) {
    const done = await this.#do(act);
    if (done) this.notify(said);
    await (this.#text ? this.search(this.#text) : this.refresh());
    return done;
  }

  /** @param {() => Promise<unknown>} act */
  async #do(act) {
    try {
      await act();
      return true;
    } catch (error) {
      this.notify(translate("failed", { reason: reason(error) }));
      return false;
    }
  }

  /** The folder cannot be listed; a listing of before stays where the sandbox does not answer. @param {unknown} error */
  #drawFailure(error) {
    this.parts.state.textContent = translate("failed", { reason: reason(error) });
    if (error instanceof FileError) {
      [this.#entries, this.#total] = [[], 0];
      this.table.show([]);
    }
    this.#drawn = "";
  }

  /** The folders on the way, each a link. */
  #drawPath() {
    const all = steps(this.folder);
    const links = all.map(({ name, path }, index) => {
      const link = element("a", { href: hrefOf(path), textContent: name === "/" ? translate("top") : nameText(name) });
      if (index === all.length - 1) link.setAttribute("aria-current", "location");
      return element("li", {}, link);
    });
    this.parts.path.replaceChildren(element("ol", {}, ...links));
  }
}

/** What differs once a file has changed. @param {Entry} entry */
const version = ({ size, modified_time: time }) => `${size} ${time}`;
