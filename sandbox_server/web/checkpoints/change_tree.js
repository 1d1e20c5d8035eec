// What differs between two states of the files, as a tree: a folder is read when it is opened. Names and depth are what an agent chose.

import { changesUnder } from "./checkpoint_client.js";
import { button, element, name } from "./elements.js";
import { explain } from "./errors.js";
import { size, visible } from "./format.js";
import { translate } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").TreeEntry} TreeEntry */
/** @typedef {import("./checkpoint_client.js").TreeLevel} TreeLevel */
/** @typedef {import("./strings.js").StringKey} StringKey */
/** @typedef {(under: string, after?: string) => Promise<TreeLevel>} ReadLevel */

/** Rows of one tree, at most. */
const MAX_ROWS = 1000;
/** Folders that are opened by themselves, one in another, where each holds nothing else. */
const MAX_UNFOLDED = 8;
const MAX_TOOLTIP = 300;

const KINDS = /** @type {const} */ (["added", "changed", "deleted"]);
/** What is said of one name, and of many. @type {Record<"ahead" | "back", Record<typeof KINDS[number], [StringKey, StringKey]>>} */
const WORDS = {
  ahead: { added: ["isAdded", "added"], changed: ["isChanged", "changed"], deleted: ["isDeleted", "deleted"] },
  back: { added: ["isLeaving", "leaves"], changed: ["isReverted", "reverts"], deleted: ["isReturning", "returns"] },
};

export class ChangeTree {
  element = element("div", "changes");
  #rows = 0;

  /**
   * @param {{older: string, newer: string}} states
   * @param {{back?: boolean, read?: ReadLevel}} [options] `back`: say what going back from the newer to the older one does
   */
  constructor(states, { back = false, read = (under, after) => changesUnder(states, under, after) } = {}) {
    this.way = /** @type {"ahead" | "back"} */ (back ? "back" : "ahead");
    this.read = read;
    this.element.classList.toggle("back", back);
  }

  /** Read and show what is at the root. */
  async open() {
    const said = element("p", "muted", translate("comparing"));
    this.element.replaceChildren(said);
    try {
      const level = await this.read("/");
      const total = sum(level.entries);
      said.textContent = level.entries.length ? translate("differs", { list: this.#counts(total) }) : translate("same");
      if (level.truncated) this.element.append(element("p", "muted", translate("truncated")));
      if (level.entries.length) this.element.append(this.#list("/", level, 0));
    } catch (error) {
      said.className = "problem";
      said.textContent = explain(error);
    }
  }

  /** @param {string} under @param {TreeLevel} level @param {number} depth */
  #list(under, level, depth) {
    const list = element("ul", "tree");
    this.#add(list, under, level, depth);
    return list;
  }

  /** @param {HTMLElement} list @param {string} under @param {TreeLevel} level @param {number} depth */
  #add(list, under, { entries, more }, depth) {
    const room = Math.max(0, MAX_ROWS - this.#rows);
    const shown = entries.slice(0, room);
    this.#rows += shown.length;
    list.append(...shown.map((entry) => this.#row(under, entry, depth, shown.length === 1 && !more)));
    const last = shown.at(-1);
    if (shown.length < entries.length || (more && this.#rows >= MAX_ROWS)) list.append(element("li", "muted", translate("full")));
    else if (more && last) list.append(this.#more(list, under, last.name, depth));
  }

  /** @param {string} under @param {TreeEntry} entry @param {number} depth @param {boolean} alone */
  #row(under, entry, depth, alone) {
    const row = element("li");
    const below = entry.added + entry.changed + entry.deleted > (entry.change ? 1 : 0);
    if (!below) {
      row.append(this.#line(element("div", "line"), entry));
      return row;
    }
    const path = `${under === "/" ? "" : under}/${entry.name}`;
    const fold = this.#line(button("", () => this.#toggle(row, path, depth), "line"), entry, "/");
    fold.setAttribute("aria-expanded", "false");
    row.append(fold);
    if (alone && depth < MAX_UNFOLDED) this.#toggle(row, path, depth);
    return row;
  }

  /** @template {HTMLElement} T @param {T} place @param {TreeEntry} entry @param {string} [mark] of a folder @returns {T} */
  #line(place, entry, mark = "") {
    const word = element("span", `change ${entry.change ?? ""}`, mark ? this.#counts(entry) : this.#word(entry));
    place.append(name(visible(entry.name) + mark, visible(entry.name, MAX_TOOLTIP) + mark), word, element("span", "size", this.#size(entry)));
    return place;
  }

  /** @param {HTMLElement} row @param {string} path @param {number} depth */
  async #toggle(row, path, depth) {
    const fold = /** @type {HTMLElement} */ (row.firstElementChild);
    const opens = fold.getAttribute("aria-expanded") === "false";
    fold.setAttribute("aria-expanded", String(opens));
    const known = /** @type {HTMLElement | null} */ (fold.nextElementSibling);
    if (known) known.hidden = !opens;
    else if (opens) await this.#fill(row, path, depth);
  }

  /** @param {HTMLElement} row @param {string} path @param {number} depth */
  async #fill(row, path, depth) {
    const place = element("div", "muted", translate("comparing"));
    row.append(place);
    try {
      place.replaceWith(this.#list(path, await this.read(path), depth + 1));
    } catch (error) {
      place.replaceWith(element("p", "problem", explain(error)));
    }
  }

  /** @param {HTMLElement} list @param {string} under @param {string} after @param {number} depth */
  #more(list, under, after, depth) {
    const item = element("li");
    const load = async () => {
      try {
        const level = await this.read(under, after);
        item.remove();
        this.#add(list, under, level, depth);
      } catch (error) {
        item.replaceChildren(element("p", "problem", explain(error)));
      }
    };
    item.append(button(translate("names"), load));
    return item;
  }

  /** @param {TreeEntry} entry */
  #word({ change }) {
    return change ? translate(WORDS[this.way][change][0]) : "";
  }

  /** @param {Pick<TreeEntry, "added" | "changed" | "deleted">} entry */
  #counts(entry) {
    const some = KINDS.filter((kind) => entry[kind]);
    return some.map((kind) => translate(WORDS[this.way][kind][1], { count: entry[kind] })).join(", ");
  }

  /** @param {TreeEntry} entry */
  #size({ added, changed, deleted, before, after }) {
    if (!changed && !deleted) return size(after);
    if (!changed && !added) return size(before);
    const [first, then] = this.way === "back" ? [after, before] : [before, after];
    return first === then ? size(then) : `${size(first)} → ${size(then)}`;
  }
}

/** @param {TreeEntry[]} entries */
function sum(entries) {
  const total = { added: 0, changed: 0, deleted: 0 };
  for (const entry of entries) for (const kind of KINDS) total[kind] += entry[kind];
  return total;
}
