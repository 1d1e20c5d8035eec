// The state of the policy in one sentence.

import { language } from "/static/strings.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./network_client.js").EgressStatus} EgressStatus */
/** @typedef {import("./network_client.js").Policy} Policy */
/** @typedef {import("./network_client.js").Rule} Rule */
/** @typedef {"good" | "waiting" | "bad" | ""} Tone */

/** @param {EgressStatus} status @param {Policy} [policy] where the reader may see it @returns {{text: string, tone: Tone}} */
export function policySentence(status, policy) {
  if (!status.enabled) return { text: translate("notEnforced", { reason: status.reason }), tone: "waiting" };
  const asked = status.enforcement === "proxy";
  if (!status.running) return { text: translate(asked ? "proxyNotRunning" : "notRunning"), tone: "bad" };
  if (status.mode === "learn") return { text: translateCount("learning", status.learned), tone: "waiting" };
  const exempt = asked ? translate("onlyAsked") : status.enforcement === "rules" ? translate("rootExempt") : "";
  return { text: `${status.default === "allow" ? allowing(policy) : denying(status, policy)}${exempt}`, tone: asked ? "waiting" : "good" };
}

/** @param {Policy} [policy] */
function allowing(policy) {
  const denied = hostsOf(policy, "deny").size;
  const asked = hostsOf(policy, "ask").size;
  if (denied && asked) return translate("allAllowedButBoth", { denied, asked });
  if (denied) return translateCount("allAllowedButDenied", denied);
  return asked ? translateCount("allAllowedButAsked", asked) : translate("allAllowed");
}

/** @param {EgressStatus} status @param {Policy} [policy] */
function denying({ rules }, policy) {
  if (!policy) return translateCount("onlyRules", rules);
  const asked = hostsOf(policy, "ask").size;
  const only = onlyAllowed(rulesOf(policy, "allow"));
  return asked ? `${only}${translateCount("andAsked", asked)}` : only;
}

/** @param {Rule[]} rules that allow */
function onlyAllowed(rules) {
  const hosts = new Set(rules.flatMap(({ hosts = [] }) => hosts));
  if (hosts.has("*")) return translate("allByRule");
  const counted = /** @type {const} */ ([
    ["hosts", hosts.size], ["sets", new Set(rules.flatMap(({ sets = [] }) => sets)).size], ["networks", new Set(rules.flatMap(({ cidrs = [] }) => cidrs)).size],
  ]);
  const some = counted.filter(([, count]) => count);
  const what = new Intl.ListFormat(language, { type: "conjunction" }).format(some.map(([key, count]) => translateCount(key, count)));
  const isOne = some.length === 1 && some[0][1] === 1;
  return some.length ? translate(isOne ? "onlyOne" : "only", { what }) : translate("nothing");
}

/** The rules with an action that are in force. @param {Policy | undefined} policy @param {string} action */
function rulesOf(policy, action) {
  const now = Date.now() / 1000;
  return (policy?.rules ?? []).filter((rule) => rule.action === action && (rule.until === undefined || rule.until === null || rule.until > now));
}

/** What rules with an action name. @param {Policy | undefined} policy @param {string} action */
const hostsOf = (policy, action) => new Set(rulesOf(policy, action).flatMap(({ hosts = [], cidrs = [], sets = [] }) => [...hosts, ...cidrs, ...sets.map((set) => `set ${set}`)]));
