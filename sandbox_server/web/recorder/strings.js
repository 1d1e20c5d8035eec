// The page's strings in English and Chinese. `?lang=` chooses the language, else the browser's.

import { CHINESE } from "./chinese.js";
import { ENGLISH } from "./english.js";

const requested = new URL(location.href).searchParams.get("lang") ?? navigator.language;
export const language = requested.toLowerCase().startsWith("zh") ? "zh" : "en";
const STRINGS = language === "zh" ? CHINESE : ENGLISH;

/** @typedef {keyof typeof ENGLISH} StringKey */
/** @typedef {{text: string, code?: boolean}} Segment a piece of a sentence; `code` is what a program wrote or reads */

/** Whether there is a string of that key. @param {string} key @returns {key is StringKey} */
export const isKey = (key) => Object.hasOwn(STRINGS, key);

/**
 * A string with its placeholders filled.
 * @param {StringKey} key
 * @param {Record<string, string | number>} [values]
 */
export function translate(key, values = {}) {
  return STRINGS[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** The same where the number decides on the form. @param {StringKey} key @param {number} count @param {Record<string, string | number>} [values] */
export function translateCount(key, count, values = {}) {
  const one = `${key}One`;
  return translate(count === 1 && isKey(one) ? one : key, { count, ...values });
}

/** A string in pieces, of which those that fill a placeholder of `code` are marked. @param {StringKey} key @param {Record<string, string | number>} values @param {string[]} code @returns {Segment[]} */
export function segments(key, values, code = []) {
  return STRINGS[key]
    .split(/(\{\w+\})/)
    .filter(Boolean)
    .map((piece) => {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1];
      if (!name) return { text: piece };
      const text = String(values[name] ?? "");
      return code.includes(name) ? { text, code: true } : { text };
    });
}

/** How a person is named: the name, and a piece of the session where there is one. @param {string} name */
export function personName(name) {
  const [who, session] = name.split("#");
  return session ? `${who} · ${session.slice(0, 4)}` : who;
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
