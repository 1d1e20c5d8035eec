// Watches whether the server answers pings: tells when a connection becomes slow, when it stalls, and when it answers again.

export const SLOW_MS = 2000;
export const STALLED_MS = 5000;

/** @typedef {"alive" | "slow" | "stalled"} Liveness */

export class ConnectionWatch {
  /** @type {ReturnType<typeof setTimeout>[]} */
  #timers = [];
  /** @type {Liveness} */
  #state = "alive";

  /** @param {(state: Liveness) => void} tell is called on each change */
  constructor(tell) {
    this.tell = tell;
  }

  /** Whether something was asked that nothing has answered. */
  get waits() {
    return this.#timers.length > 0;
  }

  /** Note that a ping was sent. The first that is not answered counts. */
  asked() {
    if (this.waits) return;
    this.#timers = [setTimeout(() => this.#become("slow"), SLOW_MS), setTimeout(() => this.#become("stalled"), STALLED_MS)];
  }

  /** Note that something arrived. Whatever it is, it answers. */
  heard() {
    this.#stop();
    this.#become("alive");
  }

  /** Forget everything: this is another connection. */
  reset() {
    this.#stop();
    this.#state = "alive";
  }

  #stop() {
    this.#timers.forEach(clearTimeout);
    this.#timers = [];
  }

  /** @param {Liveness} state */
  #become(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.tell(state);
  }
}
