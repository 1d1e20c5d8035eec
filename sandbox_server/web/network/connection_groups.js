// Connections grouped by the host that they go to, the newest first, and bounded.

import { isApproval } from "/static/requests/handoff.js";

/** @typedef {import("./network_client.js").Connection} Connection */
/** @typedef {import("../requests/handoff.js").Handoff} Handoff */
/** @typedef {"waiting" | "refused" | "unreachable" | "learned" | "allowed"} GroupState */
/**
 * @typedef {object} HostGroup
 * @property {string} key
 * @property {string} host
 * @property {number[]} ports
 * @property {GroupState} state of its newest connection
 * @property {number} at
 * @property {number} count
 * @property {number} open
 * @property {number} sent
 * @property {number} received
 * @property {Connection[]} connections the newest first
 */

/** Connections that are kept, and hosts that are shown. */
export const MAX_KEPT = 300;
export const MAX_GROUPS = 30;
/** What stands for the rule where the policy allowed something that nobody answered. */
const UNREACHABLE = "unreachable";
/** Rules by which something is refused that no rule for its host changes: a network has to be named, or the connection itself is wrong. */
const UNGRANTED = ["protected", "mismatch", "packets", "limit", UNREACHABLE, "unknown address"];
/** Of a host. */
export const MAX_SHOWN = 10;
const MAX_PORTS = 6;

/** The known connections with those that are new or changed, the newest first. @param {Connection[]} known @param {Connection[]} changed */
export function merged(known, changed) {
  const all = new Map([...known, ...changed].map((each) => [each.id, each]));
  return [...all.values()].sort((one, other) => other.id - one.id).slice(0, MAX_KEPT);
}

/** The hosts of connections, and those that somebody is asked about. @param {Connection[]} connections the newest first @param {Handoff[]} handoffs @returns {HostGroup[]} */
export function groupsOf(connections, handoffs) {
  const asked = new Set(handoffs.flatMap((each) => (isApproval(each) && each.approval?.subject === "network" ? [each.approval.details.host ?? ""] : [])));
  /** @type {Map<string, Connection[]>} */
  const byHost = new Map();
  for (const each of connections) byHost.set(each.host, [...(byHost.get(each.host) ?? []), each]);
  const groups = [...byHost].map(([host, found]) => group(host, found, asked.has(host)));
  const unseen = [...asked].filter((host) => host && !byHost.has(host)).map((host) => group(host, [], true));
  return [...unseen, ...groups].sort(byTime).slice(0, MAX_GROUPS);
}

/** What waits comes first: somebody is asked about it. @param {HostGroup} one @param {HostGroup} other */
const byTime = (one, other) => Number(other.state === "waiting") - Number(one.state === "waiting") || other.at - one.at;

/** @param {string} host @param {Connection[]} connections @param {boolean} asked @returns {HostGroup} */
function group(host, connections, asked) {
  const sum = (/** @type {(each: Connection) => number} */ of) => connections.reduce((total, each) => total + of(each), 0);
  const [newest] = connections;
  return {
    key: host,
    host,
    ports: [...new Set(connections.map(({ port }) => port))].slice(0, MAX_PORTS),
    state: asked ? "waiting" : stateOf(newest),
    at: newest ? (newest.ended ?? newest.at) : Date.now() / 1000,
    count: sum(({ count }) => count),
    open: connections.filter(({ ended, action }) => ended === null && action === "allow").length,
    sent: sum(({ bytes_sent: sent }) => sent),
    received: sum(({ bytes_received: received }) => received),
    connections: connections.slice(0, MAX_SHOWN),
  };
}

/** @param {Connection} connection @returns {GroupState} */
export function stateOf({ action, learned, rule }) {
  if (action === "deny") return rule === UNREACHABLE ? "unreachable" : "refused";
  return learned ? "learned" : "allowed";
}

/** Whether a rule for its host would allow a connection that a rule refused. @param {string} rule */
export const isGrantable = (rule) => !UNGRANTED.includes(rule);
