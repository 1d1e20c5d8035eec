// The HTTP client of the pages for the sandbox's API.

const TIMEOUT_MS = 15000;

/** A response that is not a success; its message is a sentence for a person. */
export class ApiError extends Error {
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
 * Call an operation. Returns the envelope's `data`, or with `whole` the whole body.
 * @param {string} method
 * @param {string} path
 * @param {{body?: object, whole?: boolean, accepted?: number[], timeout?: number}} [options] `accepted`: statuses that count as success;
 *   `timeout`: milliseconds
 * @returns {Promise<any>} rejects with ApiError, or with TypeError or TimeoutError if nothing answers
 */
export async function call(method, path, { body, whole = false, accepted = [], timeout = TIMEOUT_MS } = {}) {
  const response = await fetch(path, {
    method,
    headers: { Accept: "application/json", ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(timeout),
  });
  const answer = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok && !accepted.includes(response.status)) {
    throw new ApiError(response.status, answer?.message ?? `the sandbox answered ${response.status}`);
  }
  return whole ? answer : answer?.data;
}
