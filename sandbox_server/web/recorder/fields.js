// Fields of events as text: whatever a record holds, what comes out is a short string or a number.

/** Characters of a field in a sentence. */
const MAX_INLINE = 80;

/** A string or number as text of one line, at most `limit` characters; empty for anything else. @param {unknown} value @param {number} [limit] */
export function shortText(value, limit = MAX_INLINE) {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return "";
  const [line, ...more] = printable(String(value).slice(0, 4 * limit)).trim().split("\n");
  const cut = line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
  return more.length && !cut.endsWith("…") ? `${cut} …` : cut;
}

/** A text without characters that turn the direction of what follows, or that show nothing. @param {string} text */
export const printable = (text) => text.replace(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, "");

/** A number; null for anything else. @param {unknown} value */
export const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** An object's fields; none of anything else. @param {unknown} value @returns {Record<string, unknown>} */
export const fields = (value) => (value !== null && typeof value === "object" && !Array.isArray(value) ? /** @type {any} */ (value) : {});

/** What a table holds under a name that a record gives; nothing that every object has. @template T @param {Record<string, T>} table @param {unknown} name @returns {T | undefined} */
export const entryOf = (table, name) => (typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined);

/** A list; empty for anything else. @param {unknown} value @returns {unknown[]} */
export const listed = (value) => (Array.isArray(value) ? value : []);

/** An address without what is the same in all: of one of the web, path and query, or the host where there is no path. @param {unknown} url */
export function shortUrl(url) {
  const text = shortText(url, 300);
  const found = /^https?:\/\/([^/?#]+)(\/[^?#]*)?(\?.*)?$/.exec(text);
  if (!found) return shortText(text);
  const [, host, path = "/", query = ""] = found;
  return shortText(path === "/" && !query ? host : `${host}${path}${query}`);
}
