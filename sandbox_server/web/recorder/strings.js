// The page's strings in English and Chinese.

import { language, translator } from "/static/strings.js";

/** Of the two languages only the one that is read is loaded. */
const STRINGS = language === "zh" ? (await import("./chinese.js")).CHINESE : (await import("./english.js")).ENGLISH;

/** @typedef {keyof typeof import("./english.js").ENGLISH} StringKey */
/** @typedef {{text: string, code?: boolean}} Segment a piece of a sentence; `code` is what a program wrote or reads */

/** Whether there is a string of that key. @param {string} key @returns {key is StringKey} */
export const isKey = (key) => Object.hasOwn(STRINGS, key);

export const translate = translator(STRINGS, STRINGS);

/** The same where the number decides on the form. @param {StringKey} key @param {number} count @param {Record<string, string | number>} [values] */
export function translateCount(key, count, values = {}) {
  const one = `${key}One`;
  return translate(count === 1 && isKey(one) ? one : key, { count, ...values });
}

/** A string in pieces, of which those that fill a placeholder of `code` are marked. @param {StringKey} key @param {Record<string, string | number>} values @param {string[]} code @returns {Segment[]} */
export const segments = (key, values, code = []) => segmentsOf(STRINGS[key], values, code);

/** @param {string} text @param {Record<string, string | number>} values @param {string[]} code @returns {Segment[]} */
export function segmentsOf(text, values, code) {
  return text
    .split(/(\{\w+\})/)
    .filter(Boolean)
    .map((piece) => {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1];
      if (!name) return { text: piece };
      const text = String(values[name] ?? "");
      return code.includes(name) ? { text, code: true } : { text };
    });
}

const CLOCK = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = /** @type {const} */ ({ month: "short", day: "numeric" });

/** A date that can be shown, whatever a record says. @param {number} at seconds since the epoch */
const dateOf = (at) => new Date(Math.abs(at) < 8.64e12 ? at * 1000 : 0);

/** A time of day for display, with the day unless that is today. @param {number} at seconds since the epoch */
export function moment(at) {
  const date = dateOf(at);
  const time = date.toLocaleTimeString(language, CLOCK);
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString(language, DAY)} ${time}`;
}

/** The zone of all times on the page, with its offset. */
export function zone() {
  const { timeZone } = new Intl.DateTimeFormat(language).resolvedOptions();
  const offset = new Intl.DateTimeFormat(language, { timeZoneName: "shortOffset" }).formatToParts().find(({ type }) => type === "timeZoneName");
  return offset && offset.value !== timeZone ? `${timeZone} (${offset.value})` : timeZone;
}

/** A duration for display. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return translate("milliseconds", { count: Math.round(ms) });
  if (ms < 120000) return translate("seconds", { count: Number((ms / 1000).toPrecision(3)) });
  return translate("minutes", { count: Math.round(ms / 60000) });
}
