// The entries of a folder: which are shown, in which order, and how their names, times and sizes read.

import { size, visible } from "/static/checkpoints/format.js";
import { language } from "/static/strings.js";

/**
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} path
 * @property {boolean} is_directory
 * @property {boolean} [is_symlink]
 * @property {number | null} [size]
 * @property {string | null} [modified_time]
 *
 * @typedef {"name" | "size" | "modified"} Column
 * @typedef {{column: Column, descending: boolean}} Order
 */

/** More than a file system allows. */
const MAX_NAME = 400;
const WHEN = /** @type {const} */ ({ year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const names = new Intl.Collator(language, { numeric: true });
const dates = new Intl.DateTimeFormat(language, WHEN);

/** A name or a path as text that can only be read. @param {string} text */
export const nameText = (text) => visible(text, text.startsWith("/") ? MAX_NAME * 10 : MAX_NAME);

/** @param {Entry} entry */
export const isHidden = ({ name }) => name.startsWith(".");

/** @param {Entry} entry */
export const sizeText = (entry) => (entry.is_directory || entry.size == null ? "" : size(entry.size));

/** @param {Entry} entry */
export function timeText({ modified_time: time }) {
  const date = new Date(time ?? NaN);
  return Number.isNaN(date.getTime()) ? "" : dates.format(date);
}

/** The zone of all times on the page. */
export function zone() {
  const parts = new Intl.DateTimeFormat(language, { timeZoneName: "short" }).formatToParts(new Date());
  return parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
}

/** Folders first, whatever the order. @param {Entry[]} entries @param {Order} order @returns {Entry[]} */
export function ordered(entries, { column, descending }) {
  const sign = descending ? -1 : 1;
  return [...entries].sort(
    (one, other) => Number(other.is_directory) - Number(one.is_directory) || sign * compared(one, other, column) || names.compare(one.name, other.name),
  );
}

/** @param {Entry} one @param {Entry} other @param {Column} column */
function compared(one, other, column) {
  if (column === "size") return (one.size ?? 0) - (other.size ?? 0);
  if (column === "modified") return (one.modified_time ?? "").localeCompare(other.modified_time ?? "");
  return names.compare(one.name, other.name);
}
