// Compares a checkpoint with the files as they are now, with another one, or with the image.

import { ChangeTree } from "./change_tree.js";
import { CURRENT, IMAGE } from "./checkpoint_client.js";
import { element, name } from "./elements.js";
import { nameOf, stateName } from "./names.js";
import { when } from "./format.js";
import { translate } from "./strings.js";

/** @typedef {import("./checkpoint_client.js").Checkpoint} Checkpoint */

/** Checkpoints that can be chosen, the newest. */
const MAX_CHOICES = 50;

export class Comparison {
  element = element("div", "comparison");

  /** @param {string} id of a checkpoint, or the image @param {Checkpoint[]} all the oldest first */
  constructor(id, all) {
    this.id = id;
    this.all = all;
    this.select = document.createElement("select");
    const others = all.filter((one) => one.id !== id).slice(-MAX_CHOICES).reverse();
    this.select.append(
      new Option(translate("now"), CURRENT),
      ...others.map((one) => new Option(`${nameOf(one, all)} · ${when(one.created)}`, one.id)),
      ...(id === IMAGE ? [] : [new Option(translate("imageAbout"), IMAGE)]),
    );
    this.select.value = CURRENT;
    this.select.onchange = () => this.#compare();
    const label = element("label", "with", translate("compareWith"));
    label.append(this.select);
    this.result = element("div", "result");
    this.element.append(label, this.result);
    this.#compare();
  }

  #compare() {
    const states = inOrder(this.id, this.select.value, this.all);
    const tree = new ChangeTree(states);
    const said = element("p", "muted between");
    said.append(name(translate("fromTo", { from: this.#name(states.older), to: this.#name(states.newer) })));
    this.result.replaceChildren(said, tree.element);
    tree.open();
  }

  /** @param {string} id */
  #name(id) {
    return id === CURRENT ? translate("now") : stateName(id, this.all);
  }
}

/** Two states, the older one first. @param {string} one @param {string} other @param {Checkpoint[]} all the oldest first */
export function inOrder(one, other, all) {
  const order = [IMAGE, ...all.map(({ id }) => id)];
  const rank = (/** @type {string} */ id) => (id === CURRENT ? order.length : order.indexOf(id));
  return rank(one) <= rank(other) ? { older: one, newer: other } : { older: other, newer: one };
}
