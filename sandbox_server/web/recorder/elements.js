// A sentence as elements: nothing that a record holds becomes markup.

import { element } from "/static/checkpoints/elements.js";

/** A sentence's pieces, code as such. @param {import("./strings.js").Segment[]} segments @returns {(HTMLElement | string)[]} */
export const pieces = (segments) => segments.map(({ text, code }) => (code ? element("code", "", text) : text));
