// One connection to /v1/events: who drives, what is asked of people, which ports are open and what the sandbox connects to. It is opened again when it breaks, after longer and longer pauses.

export const EVENTS = /** @type {const} */ (["control", "handoffs", "ports", "egress"]);
const URL_PATH = "/v1/events";
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;

/**
 * @typedef {"lost" | "refused"} Broken `refused`: whoever asks is signed out, or may not look
 * @typedef {object} EventListener
 * @property {(name: typeof EVENTS[number], data: any) => void} event
 * @property {(reason: Broken) => void} broken
 */

export class EventConnection {
  /** @type {EventSource | undefined} */
  #source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #delay = FIRST_DELAY_MS;

  /** @param {EventListener} listener */
  constructor(listener) {
    this.listener = listener;
  }

  /** Connect now, or anew. */
  open() {
    this.close();
    const source = new EventSource(URL_PATH);
    this.#source = source;
    for (const name of EVENTS) {
      source.addEventListener(name, (event) => {
        this.#delay = FIRST_DELAY_MS;
        this.listener.event(name, JSON.parse(/** @type {MessageEvent} */ (event).data));
      });
    }
    source.addEventListener("error", () => this.#failed(source));
  }

  /** Connect now if it waits to. */
  hurry() {
    if (this.#timer !== undefined) this.open();
  }

  /** Disconnect. */
  close() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.close();
    this.#source = undefined;
  }

  /** @param {EventSource} source */
  #failed(source) {
    if (source !== this.#source) return;
    const refused = source.readyState === EventSource.CLOSED; // the server answered, but with no stream
    this.close();
    this.#timer = setTimeout(() => this.open(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY_MS);
    this.listener.broken(refused ? "refused" : "lost");
  }
}
