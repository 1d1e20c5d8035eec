// The bar's strings in English and Chinese.

import { language, translator } from "/static/strings.js";

/** Of the two languages only the one that is read is loaded. */
const STRINGS = language === "zh" ? (await import("./chinese.js")).CHINESE : (await import("./english.js")).ENGLISH;

export const translate = translator(STRINGS, STRINGS);
