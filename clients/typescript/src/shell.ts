import type { Connection } from "./connection.js";
import { CommandFailed } from "./errors.js";

export interface CommandOptions {
  /** Working directory, absolute. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Seconds after which the command is killed, with status `timed_out`. */
  readonly timeout?: number;
  /** Ends the wait; the command goes on. */
  readonly signal?: AbortSignal;
}

/** How a command ended, and what it wrote. */
export interface CommandResult {
  readonly command: string;
  /** `completed`, `timed_out` or `killed`. */
  readonly status: string;
  /** Null where a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A piece of what a command wrote, or its end. */
export type CommandEvent =
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "exit"; readonly status: string; readonly exitCode: number | null };

/** Commands, each in a process of its own. */
export class Shell {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Run a command, as after `bash -c`, and wait for its end. All of its output is given.
   *
   * With `check` CommandFailed is thrown unless it exits with 0.
   */
  async run(command: string, options: CommandOptions & { readonly check?: boolean } = {}): Promise<CommandResult> {
    const written = { stdout: [] as string[], stderr: [] as string[] };
    let ended: { status: string; exitCode: number | null } = { status: "killed", exitCode: null };
    for await (const event of this.stream(command, options)) {
      if (event.type === "output") written[event.stream].push(event.text);
      else ended = event;
    }
    const { status, exitCode } = ended;
    const result = { command, status, exitCode, stdout: written.stdout.join(""), stderr: written.stderr.join("") };
    if (options.check && exitCode !== 0) throw new CommandFailed(command, exitCode, result.stderr || result.stdout);
    return result;
  }

  /** Run a command, and give its output while it is written. Where the connection breaks it goes on without a gap, and the command runs once. */
  async *stream(command: string, options: CommandOptions = {}): AsyncGenerator<CommandEvent> {
    const body = { command, exec_dir: options.cwd, env: options.env, hard_timeout: options.timeout };
    for await (const event of this.#connection.stream("POST", "/v1/bash/exec", { body, last: ["exit"], signal: options.signal })) {
      if (event.name === "output") yield { type: "output", stream: event.data.stream, text: event.data.data };
      else if (event.name === "exit") yield { type: "exit", status: event.data.status, exitCode: event.data.exit_code };
    }
  }
}
