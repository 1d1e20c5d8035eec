// Text that somebody approves, with all that is in it.

/** Control and format characters, with the joiners, and blanks that fill lines. */
const REVEALED = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;
/** Marks that stack on one letter. */
const STACKED = /(\p{M}{4})\p{M}+/gu;

/**
 * Text that somebody approves: what is invisible or turns the direction of writing is shown by its code point, such as ⟨U+202E⟩.
 * @param {string} text
 * @param {number} limit in characters
 */
export function revealed(text, limit) {
  const shown = text.slice(0, limit * 2 + 64).replace(REVEALED, (mark) => `⟨U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  const letters = [...shown.replace(STACKED, "$1").trim()];
  return letters.length > limit ? `${letters.slice(0, limit).join("")}…` : letters.join("");
}
