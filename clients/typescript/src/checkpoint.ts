import type { Operations, Schemas } from "./operations.js";

/** A state of the computer's files that can be gone back to. */
export class Checkpoint {
  readonly #api: Operations;

  constructor(
    api: Operations,
    readonly id: string,
  ) {
    this.#api = api;
  }

  /** Go back to it. What changed since is kept in a checkpoint of its own: `kept` of the answer. */
  restore(): Promise<Schemas["CheckpointRestored"]> {
    return this.#api.call("POST /v1/checkpoints/{checkpoint_id}/restore", { path: { checkpoint_id: this.id }, body: {} });
  }

  /** What changed since: `path` and `change` of each. */
  async changes(): Promise<Schemas["CheckpointDifference"][]> {
    const answer = await this.#api.call("GET /v1/checkpoints/{checkpoint_id}/diff", {
      path: { checkpoint_id: "current" },
      query: { against: this.id },
    });
    return answer.differences;
  }
}
