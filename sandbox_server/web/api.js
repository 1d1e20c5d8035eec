// The sandbox's API, as its own pages call it.

const PATIENCE_MS = 15000;

/** An answer that is not a success, in a sentence. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Call an operation. The envelope is taken off where there is one; with `whole` the body comes as it is.
 * @param {string} method
 * @param {string} path
 * @param {{body?: object, whole?: boolean, accepted?: number[]}} [options] `accepted`: statuses that are no failure
 * @returns {Promise<any>} rejects with Refused, or with TypeError if nothing answers
 */
export async function call(method, path, { body, whole = false, accepted = [] } = {}) {
  const response = await fetch(path, {
    method,
    headers: { Accept: "application/json", ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok && !accepted.includes(response.status)) {
    throw new Refused(response.status, answer?.message ?? `the sandbox answered ${response.status}`);
  }
  return whole ? answer : answer?.data;
}
