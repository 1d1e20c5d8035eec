import { rest } from "./connection.js";
import { TimedOut } from "./errors.js";
import type { Operations, Schemas } from "./operations.js";

const LOOK_SECONDS = 0.5;

/** Who drives, and how to get to drive again. */
export class Control {
  readonly #api: Operations;

  constructor(api: Operations) {
    this.#api = api;
  }

  /** `state`, `holder`, `epoch`, `private` and more. */
  state(): Promise<Schemas["ControlState"]> {
    return this.#api.call("GET /v1/control");
  }

  /** Ask the person who has control to give it back. */
  request(): Promise<Schemas["ControlState"]> {
    return this.#api.call("POST /v1/control/request", { body: {} });
  }

  /** Wait until no person has control or is private; the state then. Throws TimedOut after `timeout` seconds. */
  async wait(options: { readonly timeout?: number; readonly signal?: AbortSignal } = {}): Promise<Schemas["ControlState"]> {
    const begun = Date.now();
    for (;;) {
      const state = await this.state();
      if (state.holder === null && state.private === null) return state;
      if (options.timeout !== undefined && Date.now() - begun > options.timeout * 1000) {
        throw new TimedOut(`${state.holder ?? state.private} still has control`);
      }
      await rest(LOOK_SECONDS, options.signal);
    }
  }
}
