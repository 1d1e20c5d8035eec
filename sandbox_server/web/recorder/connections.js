// What the sandbox connected to and what the policy refused, as sentences.

import { programName } from "./approvals.js";
import { entryOf, fields, number, shortText } from "./fields.js";
import { connections } from "./rows.js";
import { person } from "/static/strings.js";
import { connectionSegments as segments } from "./connection_strings.js";
import { translate } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./strings.js").Segment} Segment */
/** @typedef {import("./connection_strings.js").ConnectionKey} ConnectionKey */

/** Hosts that the sentence of several connections names. */
const MAX_NAMED = 3;
/** What stands for the rule where the policy allowed something that nobody answered. */
const UNREACHABLE = "unreachable";
const CODE = ["program", "place", "places", "rule", "what"];
/** What became of the policy. @type {Record<string, ConnectionKey>} */
const POLICY = { put: "policyReplaced", patch: "policyChanged", grant: "policyGranted", revoke: "policyRevoked", always: "policyAlways" };
/** By the event. @type {Record<string, ConnectionKey>} */
const EVENTS = { away: "networkClosed", back: "networkOpen" };
/** Whether the policy refused it. @param {Entry} entry */
export const isRefused = (entry) => entry.kind === "egress" && fields(entry).action === "deny" && fields(entry).rule !== UNREACHABLE;

/** What two connections have in common that are one row. @param {Entry} entry */
export function likeness(entry) {
  const { event, action, host, port, rule, process, session } = fields(entry);
  if (entry.kind !== "egress" || event !== "connections") return "";
  return JSON.stringify(action === "deny" ? [action, host, port, rule, process, session] : [action, process, session]);
}

/** @param {Entry[]} entries of one row @returns {Segment[]} */
export function connectionSentence(entries) {
  const [entry] = entries;
  const event = shortText(entry.event);
  if (event === "policy") return policySentence(entry);
  const key = entryOf(EVENTS, event);
  if (key) return segments(key, {});
  const count = entries.reduce((sum, each) => sum + (number(fields(each).count) ?? 1), 0);
  const times = count > 1 ? segments("manyTimes", { count }) : [];
  if (isRefused(entry)) return [...segments("refusedPlace", { program: programOf(entry), place: placeOf(entry), rule: shortText(fields(entry).rule) }, CODE), ...times];
  if (fields(entry).rule === UNREACHABLE) return [...segments("noAnswer", { program: programOf(entry), place: placeOf(entry) }, CODE), ...times];
  const places = [...new Set(entries.map(placeOf))];
  const shown = places.slice(0, MAX_NAMED).join(", ");
  const more = places.length - MAX_NAMED;
  return [...segments("connectedTo", { program: programOf(entry), places: shown }, CODE), ...(more > 0 ? [{ text: ` ${translate("andMore", { count: more })}` }] : []), ...times];
}

/** @param {Entry} entry @returns {Segment[]} */
function policySentence(entry) {
  const { by, change, cut } = fields(entry);
  const who = shortText(person(shortText(by))) || translate("somebody");
  const stopped = number(cut);
  const tail = stopped ? segments(stopped === 1 ? "cutConnectionsOne" : "cutConnections", { count: stopped }) : [];
  return [...segments(entryOf(POLICY, change) ?? "policyChanged", { who, what: placeOf(entry) }, CODE), ...tail];
}

/** @param {Entry} entry */
const programOf = (entry) => programName(fields(entry).process);

/** @param {Entry} entry */
function placeOf(entry) {
  const { host, port } = fields(entry);
  const name = shortText(host, 120);
  return number(port) === null ? name : `${name.includes(":") ? `[${name}]` : name}:${port}`;
}

Object.assign(connections, { sentence: connectionSentence, isRefused, likeness }); // the rows and sentences know of them where this is loaded
