// What differs between two policies, as lines that a person can read.

import { translate } from "./strings.js";

/** @typedef {import("./network_client.js").Policy} Policy */
/** @typedef {import("./network_client.js").Rule} Rule */
/** @typedef {{sign: "+" | "−" | "±", text: string}} DifferenceLine */

const MAX_LINES = 200;
const MAX_NAMED = 12;
/** Fields of a document that are no rules. */
const FIELDS = /** @type {const} */ (["default", "mode", "ech"]);
/** What they are where the document does not say. @type {Record<string, string>} */
const DEFAULTS = { default: "deny", mode: "enforce", ech: "deny" };

/** @param {Policy} before @param {Policy} after @returns {{lines: DifferenceLine[], more: number}} */
export function differenceOf(before, after) {
  const fields = FIELDS.filter((name) => valueOf(before, name) !== valueOf(after, name)).map((name) => ({
    sign: /** @type {const} */ ("±"), text: translate("fieldChanged", { name, before: valueOf(before, name), after: valueOf(after, name) }),
  }));
  const old = bySaying(before);
  const now = bySaying(after);
  /** @type {DifferenceLine[]} */
  const lines = [
    ...fields,
    ...[...now].filter(([saying]) => !old.has(saying)).map(([, text]) => ({ sign: /** @type {const} */ ("+"), text })),
    ...[...old].filter(([saying]) => !now.has(saying)).map(([, text]) => ({ sign: /** @type {const} */ ("−"), text })),
  ];
  if (!lines.length && [...old.keys()].join() !== [...now.keys()].join()) lines.push({ sign: "±", text: translate("orderChanged") });
  return { lines: lines.slice(0, MAX_LINES), more: Math.max(0, lines.length - MAX_LINES) };
}

/** @param {Policy} policy @param {typeof FIELDS[number]} name */
const valueOf = (policy, name) => String(policy[name] ?? DEFAULTS[name]);

/** The rules, by what makes them the same. @param {Policy} policy @returns {Map<string, string>} */
const bySaying = ({ rules = [] }) => new Map(rules.map((rule) => [JSON.stringify({ ...rule, name: undefined }, Object.keys(rule).sort()), ruleText(rule)]));

/** A rule in words. @param {Rule} rule */
export function ruleText({ action, hosts = [], cidrs = [], sets = [], ports = [], protocols = [], methods = [], paths = [], task, until }) {
  const names = [...hosts, ...cidrs, ...sets.map((set) => translate("setNamed", { set }))].map(String);
  const key = /** @type {const} */ ({ allow: "ruleAllow", deny: "ruleDeny", ask: "ruleAsk" })[/** @type {"allow"} */ (action)] ?? "ruleAllow";
  const parts = [
    translate(key, { names: few(names) }),
    ports.length ? translate("onPorts", { ports: few(ports.map(String)) }) : "",
    protocols.length ? few(protocols) : "",
    methods.length ? few(methods) : "",
    paths.length ? few(paths) : "",
    task ? translate("inTask", { task }) : "",
    until ? translate("untilTime", { time: new Date(until * 1000).toISOString().slice(0, 16).replace("T", " ") }) : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** @param {string[]} names */
const few = (names) => (names.length > MAX_NAMED ? `${names.slice(0, MAX_NAMED).join(", ")} ${translate("andMore", { count: names.length - MAX_NAMED })}` : names.join(", "));
