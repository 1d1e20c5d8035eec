import { Checkpoint } from "./checkpoint.js";
import { Connection, LONGEST_WAIT, rest } from "./connection.js";
import { Control } from "./control.js";
import { ApiError, TimedOut, Unavailable, Unreachable } from "./errors.js";
import type { SandboxEvent } from "./events.js";
import { Files } from "./files.js";
import { Operations, type Schemas } from "./operations.js";
import { Page } from "./page.js";
import { Shell } from "./shell.js";

const DEFAULT_URL = "http://127.0.0.1:8080";
const START_SECONDS = 120;
const LOOK_SECONDS = 0.1;
/** Seconds for an answer while it starts. */
const ANSWER_SECONDS = 2;
/** Seconds that a sandbox may be away while a person is waited for. */
const AWAY_SECONDS = 120;

export interface SandboxOptions {
  /** Where it is; `SANDBOX_URL` unless given. */
  readonly url?: string;
  /** What opens it; `SANDBOX_API_KEY` unless given. */
  readonly key?: string;
  /** Seconds that a call waits for control, a limit or a component, in place of throwing HeldByPerson, LimitReached or Unavailable. */
  readonly patience?: number;
}

export interface StartOptions {
  /** The image of a container on this machine. */
  readonly image?: string;
  readonly name?: string;
  /** The image's settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly patience?: number;
  /** Seconds; then TimedOut is thrown. */
  readonly timeout?: number;
}

export interface AskOptions {
  readonly kind?: Schemas["AskPerson"]["kind"];
  readonly choices?: readonly string[];
  readonly fields?: readonly Schemas["FormField"][];
  readonly instructions?: string;
  readonly url?: string;
  /** Seconds after which the outcome is `timeout`. */
  readonly timeout?: number;
  /** Withdraws the question. */
  readonly signal?: AbortSignal;
}

/** A computer that an agent and a person share. */
export class Sandbox implements AsyncDisposable {
  /** All operations of the API: `api.call("GET /v1/handoffs")`. */
  readonly api: Operations;
  readonly shell: Shell;
  readonly files: Files;
  readonly control: Control;
  readonly #connection: Connection;
  #remove: (() => Promise<void>) | undefined;

  constructor(options: SandboxOptions = {}) {
    const env = typeof process === "undefined" ? {} : process.env;
    this.#connection = new Connection(options.url ?? env.SANDBOX_URL ?? DEFAULT_URL, options.key ?? env.SANDBOX_API_KEY ?? "", options.patience);
    this.api = new Operations(this.#connection);
    this.shell = new Shell(this.#connection);
    this.files = new Files(this.api, this.#connection);
    this.control = new Control(this.api);
  }

  /** Start one: a container of `image` on this machine. `close` removes it. */
  static async start(options: StartOptions = {}): Promise<Sandbox> {
    const { image = "tandem", name, env = {}, timeout = START_SECONDS, patience = 0 } = options;
    const begun = Date.now();
    const { startContainer, removeContainer } = await import("./container.js");
    const { url, key, container } = await startContainer(image, name, env);
    const sandbox = new Sandbox({ url, key, patience });
    sandbox.#remove = () => removeContainer(container);
    try {
      await sandbox.waitReady({ timeout: timeout - (Date.now() - begun) / 1000 });
    } catch (error) {
      await sandbox.close().catch(() => undefined);
      throw error;
    }
    return sandbox;
  }

  /** Where it is. */
  get url(): string {
    return this.#connection.url;
  }

  /** The page of the browser in front. */
  get page(): Page {
    return new Page(this.api);
  }

  /** Remove the sandbox if `start` made it. `await using` does so at the end of a block. */
  async close(): Promise<void> {
    const remove = this.#remove;
    this.#remove = undefined;
    await remove?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Wait until it answers. Throws TimedOut after `timeout` seconds, and PermissionDenied. */
  async waitReady(options: { readonly timeout?: number } = {}): Promise<void> {
    const { timeout = START_SECONDS } = options;
    const begun = Date.now();
    for (;;) {
      try {
        await this.#connection.request("GET", "/v1/sandbox", { timeout: ANSWER_SECONDS });
        return;
      } catch (error) {
        if (!(error instanceof Unreachable || (error instanceof ApiError && error.status >= 500))) throw error;
        if (Date.now() - begun > timeout * 1000) throw new TimedOut(`${this.url} was not ready within ${timeout} s: ${error.message}`);
      }
      await rest(LOOK_SECONDS);
    }
  }

  /**
   * Ask a person, and wait for the answer: `outcome`, `confirmed`, `choice`, `values`, `note`.
   *
   * The question is withdrawn if nobody waits any more.
   */
  async ask(reason: string, options: AskOptions = {}): Promise<Schemas["Handoff"]> {
    const { kind = "confirm", choices = [], fields = [], instructions = "", url, timeout = 3600, signal } = options;
    const body = { kind, reason, choices: [...choices], fields: [...fields], instructions, deadline: timeout, ...(url ? { url } : {}) };
    let asked = await this.api.call("POST /v1/handoffs", { body });
    let seen = Date.now();
    try {
      while (asked.status !== "closed") {
        signal?.throwIfAborted();
        try {
          const path = { id: asked.id };
          asked = await this.api.call("GET /v1/handoffs/{id}", { path, query: { wait: LONGEST_WAIT }, ...(signal ? { signal } : {}) });
          seen = Date.now();
        } catch (error) {
          if (!(error instanceof Unreachable || error instanceof Unavailable) || Date.now() - seen > AWAY_SECONDS * 1000) throw error;
          await rest(LOOK_SECONDS, signal);
        }
      }
    } catch (error) {
      await this.api.call("DELETE /v1/handoffs/{id}", { path: { id: asked.id } }).catch(() => undefined);
      throw error;
    }
    return asked;
  }

  /** Keep the state of the files. */
  async checkpoint(label = ""): Promise<Checkpoint> {
    const made = await this.api.call("POST /v1/checkpoints", { body: { label } });
    return new Checkpoint(this.api, made.checkpoint.id);
  }

  /** Run `act` after a checkpoint. What it throws goes back to the checkpoint, and is thrown all the same. */
  async attempt<T>(label: string, act: (before: Checkpoint) => Promise<T>): Promise<T> {
    const before = await this.checkpoint(label);
    try {
      return await act(before);
    } catch (error) {
      await before.restore();
      throw error;
    }
  }

  /** What happens now, without end: `control`, `handoffs`, `ports` and more. It goes on by itself where the connection breaks. */
  events(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<SandboxEvent> {
    return this.#connection.stream("GET", "/v1/events", options);
  }

  /** A picture of the whole screen in PNG. */
  screenshot(): Promise<Uint8Array> {
    return this.#connection.read("GET", "/v1/browser/screenshot", { query: { format: "png" } });
  }

  /** A link to the live page for one browser, once and within a minute. It signs a person in if the key is the owner's. */
  async viewUrl(): Promise<string> {
    const { ticket } = await this.api.call("POST /tickets", { body: { path_prefix: "/" } });
    return `${this.url}/view?ticket=${ticket}`;
  }
}
