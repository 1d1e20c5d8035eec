// Times, sizes and names for display.

import { language } from "/static/strings.js";

const MAX_NAME = 120;
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const CLOCK = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = /** @type {const} */ ({ month: "short", day: "numeric" });
/** Seconds that a unit lasts, the longest first. */
const SPANS = /** @type {const} */ ([["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]]);
/** Control and format characters (they end lines or turn the direction of text), and halves of characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A text of somebody else's as one line, at most `limit` characters long; what cannot be seen is a replacement character. @param {unknown} text @param {number} [limit] */
export function visible(text, limit = MAX_NAME) {
  if (typeof text !== "string") return "";
  const cut = text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
  return cut.replace(INVISIBLE, "\u{fffd}");
}

/** @param {number} bytes */
export function size(bytes) {
  const power = bytes >= 1024 ? Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
  const value = bytes / 1024 ** power;
  return `${power && value < 100 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}

/** A time of day, with the day unless that is today. @param {number} at seconds since the epoch */
export function when(at) {
  const date = new Date(Math.abs(at) < 8.64e12 ? at * 1000 : 0);
  const time = date.toLocaleTimeString(language, CLOCK);
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString(language, DAY)} ${time}`;
}

/** A length of time, such as "3 minutes"; at least a second. @param {number} seconds */
export function span(seconds) {
  const [unit, length] = SPANS.find(([, length]) => seconds >= length) ?? SPANS[3];
  const count = Math.max(1, Math.round(seconds / length));
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count);
}
