// What an approval of the record is about.

import { entryOf, fields, shortText } from "./fields.js";
import { isKey, translate } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./strings.js").StringKey} StringKey */

/** What an approval's sentence names, by its subject. @type {Record<string, string[]>} */
const NAMED = { network: ["host", "port"], shell: ["command"], navigation: ["url"], download: ["file", "url"], submit: ["url"], tool: ["tool"] };

/** What an approval is about: the key of its sentence, and what it names. @param {Entry} entry @returns {{key: StringKey, values: Record<string, string>} | undefined} */
export function approvalOf(entry) {
  const { asks, subject, details } = fields(entry);
  const key = `asked_${shortText(subject)}`;
  if (asks !== "approve" || !isKey(key)) return undefined;
  const known = fields(details);
  const named = (entryOf(NAMED, subject) ?? []).map((name) => shortText(known[name], 160)).filter(Boolean);
  return { key, values: { program: programName(known.program), what: subject === "network" ? named.join(":") : (named[0] ?? "") } };
}

/** The name of a program by its command line. @param {unknown} command */
export function programName(command) {
  const [program] = shortText(command, 300).split(/\s/, 1);
  return shortText(program.split("/").at(-1)) || translate("aProgram");
}
