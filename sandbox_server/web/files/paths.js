// Paths of the sandbox's files, and how the page's address names one: `#path=/folder&open=file`, so that links and Back work.

/** @typedef {{folder: string, open: string}} Place an empty folder is the one where the agent works; `open` is a name in it */

/** @param {string} hash of the page's address @returns {Place} */
export function placeOf(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return { folder: absolute(given.get("path") ?? ""), open: given.get("open") ?? "" };
}

/** @param {string} folder @param {string} [open] */
export function hrefOf(folder, open = "") {
  const given = [["path", folder], ...(open ? [["open", open]] : [])];
  return `#${given.map(([key, value]) => `${key}=${encoded(value).replace(/%2F/g, "/")}`).join("&")}`;
}

/** Halves of characters have no place in an address. @param {string} text */
export const encoded = (text) => encodeURIComponent(text.replace(/\p{Cs}/gu, "\u{fffd}"));

/** A path without `.`, `..` and doubled slashes; empty unless it is absolute. @param {string} path */
export function absolute(path) {
  if (!path.startsWith("/")) return "";
  /** @type {string[]} */
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** @param {string} folder @param {string} name */
export const join = (folder, name) => `${folder === "/" ? "" : folder}/${name}`;

/** @param {string} path */
export const parentOf = (path) => path.slice(0, path.lastIndexOf("/")) || "/";

/** Each folder on the way to a path, the disk's top first. @param {string} path @returns {{name: string, path: string}[]} */
export function steps(path) {
  const names = path.split("/").filter(Boolean);
  return [{ name: "/", path: "/" }, ...names.map((name, index) => ({ name, path: `/${names.slice(0, index + 1).join("/")}` }))];
}

/** Whether something can be called that. @param {string} name */
export const isName = (name) => name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name);

/** The name with a number before its ending, for a second file of that name. @param {string} name @param {number} number */
export function numbered(name, number) {
  const [, stem, ending = ""] = /** @type {RegExpMatchArray} */ (name.match(/^(.+?)(\.[^.]*)?$/s));
  return `${stem} (${number})${ending}`;
}
