// What differs between two policies, as a list.

import { element } from "/static/checkpoints/elements.js";
import { revealed } from "/static/requests/revealed.js";
import { translate } from "./strings.js";

/** @typedef {import("./policy_difference.js").DifferenceLine} DifferenceLine */

const MAX_LINE = 400;
/** What a sign is called by who hears it. */
const SAID = /** @type {const} */ ({ "+": "added", "−": "removed", "±": "changed" });

/** @param {{lines: DifferenceLine[], more: number}} difference */
export function differenceList({ lines, more }) {
  const list = element("ul", "difference");
  list.append(...lines.map(({ sign, text }) => {
    const item = element("li");
    item.dataset.sign = sign;
    const mark = element("span", "sign", sign);
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", translate(SAID[sign]));
    item.append(mark, " ", element("bdi", "", revealed(text, MAX_LINE)));
    return item;
  }));
  if (!lines.length) list.append(element("li", "muted", translate("same")));
  if (more) list.append(element("li", "muted", translate("andMore", { count: more })));
  return list;
}
