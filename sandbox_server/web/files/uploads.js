// Uploads: one after the other, each with its progress, and with a question where there is something of that name.

import { element, quiet } from "/static/home/elements.js";
import { nameText } from "./entries.js";
import { status, upload } from "./file_client.js";
import { join, numbered } from "./paths.js";
import { reason } from "./reasons.js";
import { translate } from "./strings.js";

/** @typedef {import("./question.js").Question} Question */

const MAX_FILES = 200;
/** Names that are tried for a second file of that name. */
const TRIED = 100;
const SHOWN_MS = 8000;

export class Uploads {
  /** @type {Promise<unknown>} */
  #queue = Promise.resolve();

  /**
   * @param {HTMLElement} place a list
   * @param {Pick<Question, "ask">} question
   * @param {(folder: string) => unknown} done something came into a folder
   */
  constructor(place, question, done) {
    this.place = place;
    this.question = question;
    this.done = done;
  }

  /** @param {File[]} files @param {string} folder */
  add(files, folder) {
    if (files.length > MAX_FILES) new UploadRow(this.place, "").end(translate("tooMany", { count: MAX_FILES }));
    for (const file of files.slice(0, MAX_FILES)) {
      const row = new UploadRow(this.place, nameText(file.name));
      this.#queue = this.#queue.then(() => this.#send(file, folder, row));
    }
    return this.#queue;
  }

  /** Tell that folders are not taken. @param {string[]} names */
  refuse(names) {
    for (const name of names) new UploadRow(this.place, nameText(name)).end(translate("noFolders", { name: nameText(name) }));
  }

  /** @param {File} file @param {string} folder @param {UploadRow} row */
  async #send(file, folder, row) {
    const name = nameText(file.name);
    try {
      const path = row.signal.aborted ? "" : await this.#target(file.name, folder);
      if (!path || row.signal.aborted) return row.end(translate(path ? "stopped" : "skipped", { name }));
      await upload(path, file, row);
      row.end(translate("uploaded", { name: nameText(path.slice(path.lastIndexOf("/") + 1)) }), true);
      this.done(folder);
    } catch (error) {
      row.end(row.signal.aborted ? translate("stopped", { name }) : translate("uploadFailed", { name, reason: reason(error) }));
    }
  }

  /** Where a file goes; empty if the person skips it. @param {string} name @param {string} folder */
  async #target(name, folder) {
    const there = await status(join(folder, name));
    if (!there) return join(folder, name);
    const isFolder = there.type === "directory";
    const asked = await this.question.ask({
      title: translate("conflictTitle", { name: nameText(name) }),
      text: translate(isFolder ? "conflictFolder" : "conflictText"),
      answers: [["both", translate("keepBoth")], ...(isFolder ? [] : [/** @type {[string, string]} */ (["replace", translate("replace")])])],
      cancel: translate("skip"),
    });
    if (!asked) return "";
    return asked.answer === "replace" ? join(folder, name) : freePath(name, folder);
  }
}

/** @param {string} name @param {string} folder @returns {Promise<string>} empty if none of the names is free */
async function freePath(name, folder) {
  for (let number = 1; number <= TRIED; number++) {
    const path = join(folder, numbered(name, number));
    if (!(await status(path))) return path;
  }
  return "";
}

/** The row of one upload. */
class UploadRow {
  #stopping = new AbortController();
  signal = this.#stopping.signal;

  /** @param {HTMLElement} place @param {string} name */
  constructor(place, name) {
    this.place = place;
    this.name = name;
    this.text = element("span", { textContent: translate("waitingUpload", { name }) });
    this.bar = element("progress", { max: 1, value: 0 });
    this.bar.setAttribute("aria-label", name);
    this.row = element("li", {}, this.text, this.bar, quiet(translate("stop"), () => this.#stopping.abort()));
    place.append(this.row);
    place.hidden = false;
  }

  /** @param {number} share */
  progress = (share) => {
    this.bar.value = share;
    this.text.textContent = translate("uploading", { name: this.name, percent: Math.floor(share * 100) });
  };

  /** Say how it ended; what went well goes by itself. @param {string} text @param {boolean} [well] */
  end(text, well = false) {
    this.text.textContent = text;
    const remove = () => {
      this.row.remove();
      this.place.hidden = !this.place.childElementCount;
    };
    this.row.replaceChildren(this.text, quiet(translate("close"), remove));
    if (well) setTimeout(remove, SHOWN_MS);
  }
}
