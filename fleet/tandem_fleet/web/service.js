// Calls of the fleet's service, and its stream of events, which comes back by itself.

/** @typedef {{state: string, holder: string, private: boolean}} Driver */
/** @typedef {{id: string, name: string, state: string, reason: string, labels: Record<string, string>, created_at: string, driver: Driver | null, picture: string}} Sandbox */
/** @typedef {{outcome: string, choice: string | null, label: string}} Choice */
/**
 * @typedef {object} Question
 * @property {string} id
 * @property {string} sandbox
 * @property {string} name
 * @property {Record<string, string>} labels
 * @property {string} kind
 * @property {string} reason
 * @property {string} instructions
 * @property {[string, string][]} details
 * @property {Choice[]} answers
 * @property {string} asked_at
 * @property {string} ends_at
 * @property {string} claimed_by
 * @property {boolean} mine
 */
/**
 * @typedef {object} Listener
 * @property {(wall: {page: string, tiles: Sandbox[], queue: Question[]}) => void} wall
 * @property {(tile: Sandbox) => void} tile
 * @property {(gone: {id: string}) => void} gone
 * @property {(queue: Question[]) => void} queue
 * @property {(connected: boolean) => void} connected
 * @property {() => void} signedOut
 */

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
const NAMES = /** @type {const} */ (["wall", "tile", "gone", "queue"]);

/** The service's refusal, in its words. */
export class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
export async function call(method, path, body) {
  const json = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const answer = await fetch(path, { method, ...json });
  const told = answer.status === 204 ? null : await answer.json().catch(() => null);
  if (!answer.ok) throw new Refusal(answer.status, told?.error?.message ?? `The service answered ${answer.status}.`);
  return told;
}

/** Follow the wall, until one is signed out. @param {Listener} listener */
export function follow(listener) {
  let delay = FIRST_DELAY_MS;
  const open = () => {
    const source = new EventSource("/v1/wall/events");
    for (const name of NAMES) {
      source.addEventListener(name, (event) => {
        delay = FIRST_DELAY_MS;
        if (name === "wall") listener.connected(true);
        listener[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("error", async () => {
      source.close();
      listener.connected(false);
      const refused = await call("GET", "/v1/session").then(() => false, (error) => error instanceof Refusal && [401, 403].includes(error.status));
      if (refused) return listener.signedOut();
      setTimeout(open, delay);
      delay = Math.min(delay * 2, LONGEST_DELAY_MS);
    });
  };
  open();
}
