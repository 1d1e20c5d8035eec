// A stream of server-sent events that comes back by itself: it is opened again when it breaks, after longer and longer pauses.
// A browser opens an EventSource again only where the connection broke, not where the server answered with an error.

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;

/** @typedef {"lost" | "refused"} Broken `refused`: the server answered with an error; whoever asks is signed out, may not look, or comes too early */
/**
 * @template {string} Name
 * @typedef {object} EventListener
 * @property {(name: Name, data: any) => void} event
 * @property {() => void} [opened]
 * @property {(reason: Broken) => void} broken
 */

/** @template {string} Name */
export class EventStream {
  /** @type {EventSource | undefined} */
  #source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #delay = FIRST_DELAY_MS;

  /**
   * @param {() => string} url where to read on, asked for each time it is opened
   * @param {readonly Name[]} names events to listen to
   * @param {EventListener<Name>} listener
   */
  constructor(url, names, listener) {
    this.url = url;
    this.names = names;
    this.listener = listener;
  }

  /** Connect now, or anew. */
  open() {
    this.close();
    const source = new EventSource(this.url());
    this.#source = source;
    source.addEventListener("open", () => this.listener.opened?.());
    for (const name of this.names) {
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
