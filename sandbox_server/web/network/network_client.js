// The client of the egress operations: the policy with its ETag, what was connected to, and what mode learn has noted.

const TIMEOUT_MS = 20_000;
const ROOT = "/v1/egress";

/**
 * @typedef {object} EgressStatus
 * @property {boolean} enabled
 * @property {"namespace" | "rules" | "proxy" | "off"} enforcement what holds programs to it: `rules` exempt root, and of `proxy` programs only ask
 * @property {boolean} running
 * @property {string} reason why it is not enabled or not running
 * @property {"enforce" | "learn" | null} mode
 * @property {"allow" | "deny" | null} default
 * @property {number} rules
 * @property {number} grants temporary rules
 * @property {number} open connections now
 * @property {number} asking questions that wait for a person
 * @property {number} learned destinations that mode learn has noted
 * @property {string} problem why the policy's file was not read
 *
 * @typedef {object} Connection
 * @property {number} id
 * @property {number} at seconds since the epoch
 * @property {string} host
 * @property {string | null} address
 * @property {number} port
 * @property {string} protocol
 * @property {string} rule
 * @property {"allow" | "deny"} action
 * @property {boolean} learned only mode learn allowed it
 * @property {string} reason
 * @property {string} request
 * @property {number} bytes_sent
 * @property {number} bytes_received
 * @property {number | null} ended null while it is open
 * @property {{pid: number, command: string} | null} process
 * @property {string | null} session
 * @property {number} count
 *
 * @typedef {{status: EgressStatus, connections: Connection[], left_out: number}} EgressNews what the event `egress` tells
 *
 * @typedef {object} Rule
 * @property {string} [name]
 * @property {string} action
 * @property {string[]} [hosts]
 * @property {string[]} [cidrs]
 * @property {string[]} [sets]
 * @property {(number | string)[]} [ports]
 * @property {string[]} [protocols]
 * @property {string[]} [methods]
 * @property {string[]} [paths]
 * @property {string} [task]
 * @property {number} [until]
 *
 * @typedef {{default?: string, mode?: string, ech?: string, rules?: Rule[]}} Policy the document
 * @typedef {{id: string, action: string, host: string, port: number | null, until: number | null, task: string, by: string, rule: string}} Grant
 * @typedef {{policy: Policy, etag: string, grants: Grant[], cut: number}} PolicyState
 * @typedef {{pointer: string, message: string}} FieldError
 * @typedef {"once" | "task" | "always"} Duration
 */

/** An answer that is not a success. */
export class EgressError extends Error {
  /** @param {number} status @param {string} message @param {{pointer?: string, msg?: string}[]} [detail] */
  constructor(status, message, detail = []) {
    super(message);
    this.status = status;
    /** What is wrong with a policy, and where. @type {FieldError[]} */
    this.errors = detail.map(({ pointer = "", msg = "" }) => ({ pointer, message: msg }));
  }
}

/**
 * @param {string} method @param {string} path
 * @param {{text?: string, match?: string}} [sent] `text`: the body; `match`: the ETag that the change is made to
 */
async function request(method, path, { text, match } = {}) {
  const response = await fetch(`${ROOT}/${path}`, {
    method,
    headers: { Accept: "application/json", ...(text !== undefined && { "Content-Type": "application/json" }), ...(match && { "If-Match": match }) },
    body: text,
    cache: "no-store", // the ETag is the document's: temporary rules come and go under the same one
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) {
    const detail = Array.isArray(answer?.detail) ? answer.detail : [];
    throw new EgressError(response.status, answer?.message ?? detail[0]?.msg ?? String(response.status), detail);
  }
  return answer?.data;
}

/** @returns {Promise<EgressStatus>} */
export const readStatus = () => request("GET", "status");

/** @param {number} limit @returns {Promise<Connection[]>} the newest first */
export const readConnections = (limit) => request("GET", `connections?limit=${limit}`);

/** @returns {Promise<PolicyState>} */
export const readPolicy = () => request("GET", "policy");

/** Replace the policy by a document as it is written. @param {string} text @param {string} match @returns {Promise<PolicyState>} */
export const writePolicy = (text, match) => request("PUT", "policy", { text, match });

/** Change fields of the policy. @param {object} changes @param {string} match @returns {Promise<PolicyState>} */
export const changePolicy = (changes, match) => request("PATCH", "policy", { text: JSON.stringify(changes), match });

/** @returns {Promise<{policy: Policy, destinations: object[]}>} */
export const readProposal = () => request("GET", "proposal");

/** Forget what mode learn has noted. */
export const forgetProposal = () => request("DELETE", "proposal");

/**
 * Allow or deny a host, for a while or from now on.
 * @param {{host: string, port: number, protocol: string | null, action: "allow" | "deny", duration: Duration}} grant
 * @returns {Promise<{grant: Grant | null, rule: string}>}
 */
export const makeGrant = (grant) => request("POST", "grants", { text: JSON.stringify(grant) });

/** @param {string} id */
export const revokeGrant = (id) => request("DELETE", `grants/${encodeURIComponent(id)}`);
