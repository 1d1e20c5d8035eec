// The agent's words as text that can only be read: nothing that is invisible, that turns the direction of writing, or that has no end.

/** Control and format characters, but for line breaks and the joiners that scripts and emoji need. */
const INVISIBLE = /(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Marks that stack on one letter. */
const STACKED = /(\p{M}{4})\p{M}+/gu;

/**
 * @param {string} text
 * @param {number} limit in characters
 * @returns {string}
 */
export function plainText(text, limit) {
  const clean = text.slice(0, limit * 2 + 64).replace(INVISIBLE, " ").replace(STACKED, "$1").trim();
  const letters = [...clean];
  return letters.length > limit ? `${letters.slice(0, limit).join("")}…` : clean;
}

/** The same on one line. @param {string} text @param {number} limit */
export function plainLine(text, limit) {
  return plainText(text.slice(0, limit * 4 + 64).replace(/\s+/g, " "), limit);
}

/** A page's origin as people know it: the host, and the scheme where it is not https. @param {string | null | undefined} origin */
export function hostOf(origin) {
  if (!origin) return "";
  try {
    const { protocol, host } = new URL(origin);
    return protocol === "https:" ? host : `${protocol}//${host}`;
  } catch {
    return plainLine(origin, 100);
  }
}
