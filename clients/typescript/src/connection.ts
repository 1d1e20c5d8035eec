import { ApiError, HeldByPerson, LimitReached, TandemError, Unavailable, Unreachable, failure, isRecord } from "./errors.js";
import { EventParser, type SandboxEvent } from "./events.js";

/** Seconds that one call waits for control; then it is sent again. */
export const LONGEST_WAIT = 50;
/** A stream of events that says nothing for so many seconds is opened again: the server sends a comment more often. */
const SILENCE_SECONDS = 60;
/** Seconds for an answer, which is Node's own limit. In Node 20 a fetch whose connection is reset at once never settles. */
const ANSWER_SECONDS = 300;
/** Seconds that a stream with an end may be without an answer. */
const AWAY_SECONDS = 120;
/** Seconds between attempts to connect: the first pause and the longest. */
const PAUSES = [0.5, 10] as const;
const FILE_FAILURES: Readonly<Record<string, number>> = { not_found: 404, permission_denied: 403, already_exists: 409 };

/** What is sent with a call. */
export interface Sent {
  /** Values of the query string; what is undefined or null is left out. */
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  /** A body of JSON, or a form. */
  readonly body?: unknown;
  /** Ends the call where it waits. */
  readonly signal?: AbortSignal | undefined;
  /** Seconds for the whole answer; then Unreachable is thrown. */
  readonly timeout?: number | undefined;
}

/** An answer that was read whole. */
export class Answered {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: Headers;

  constructor(
    response: Response,
    readonly bytes: Uint8Array,
  ) {
    this.status = response.status;
    this.ok = response.ok;
    this.headers = response.headers;
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }

  /** The JSON of it, or its text. */
  get body(): unknown {
    const text = this.text;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}

/**
 * A sandbox at an address.
 *
 * `patience` is in seconds: for so long a call waits where a person has control (423), a limit is reached (429) or a component starts
 * (503), in place of throwing. What may have been done is never sent again.
 */
export class Connection {
  constructor(
    readonly url: string,
    readonly key: string,
    readonly patience = 0,
  ) {
    if (!/^https?:\/\//.test(url)) throw new TandemError(`${JSON.stringify(url)} is no URL: it begins with http:// or https://`);
    this.url = url.replace(/\/+$/, "");
  }

  /** Send a request until it is answered, as far as patience goes. Throws ApiError and Unreachable. */
  async request(verb: string, path: string, sent: Sent = {}): Promise<Answered> {
    const patience = new Patience(this.patience);
    let query = sent.query;
    for (;;) {
      const answered = await this.#whole(verb, path, { ...sent, query });
      if (answered.ok) return answered;
      const error = failure(answered.status, answered.body, answered.headers);
      const waits = patience.waitForControl(error);
      const pause = patience.pause(error);
      if (waits !== null) query = { ...query, wait: waits };
      else if (pause !== null) await rest(pause, sent.signal);
      else throw error;
    }
  }

  /** Call an operation; the data of its answer. */
  async call(verb: string, path: string, sent: Sent = {}): Promise<unknown> {
    const answered = await this.request(verb, path, sent);
    const type = answered.headers.get("content-type") ?? "";
    if (!type.includes("json")) return type.startsWith("text/") ? answered.text : answered.bytes;
    const body = answered.body;
    if (!isRecord(body) || !("data" in body)) return body;
    if (isRecord(body.data) && body.success === false && typeof body.data.error_type === "string") {
      throw failure(FILE_FAILURES[body.data.error_type] ?? 400, body, answered.headers);
    }
    return body.data;
  }

  /** Call an operation; all of its answer, which may have more than the data. */
  async whole(verb: string, path: string, sent: Sent = {}): Promise<unknown> {
    return (await this.request(verb, path, sent)).body;
  }

  /** Call an operation that answers bytes. */
  async read(verb: string, path: string, sent: Sent = {}): Promise<Uint8Array> {
    return (await this.request(verb, path, sent)).bytes;
  }

  /**
   * Events, until one that is named in `last`. Where the connection breaks it goes on behind the event that came last; with `last`, for
   * two minutes without an answer at most.
   *
   * What changes something is sent again only with the id of an event that it has sent: the server then does not do it again.
   */
  async *stream(verb: string, path: string, sent: Sent & { readonly last?: readonly string[] } = {}): AsyncGenerator<SandboxEvent> {
    const events = new EventParser();
    const patience = new Patience(this.patience);
    let query = sent.query;
    let attempt = 0;
    let heard = Date.now();
    for (;;) {
      events.begin();
      try {
        for await (const text of this.#texts(verb, path, { ...sent, query }, events.last)) {
          attempt = 0;
          heard = Date.now();
          for (const event of events.take(text)) {
            yield event;
            if (sent.last?.includes(event.name)) return;
          }
        }
      } catch (error) {
        if (error instanceof ApiError && !events.last) {
          const waits = patience.waitForControl(error);
          const pause = patience.pause(error);
          if (waits !== null) query = { ...query, wait: waits };
          if (pause !== null) await rest(pause, sent.signal);
          if (waits !== null || pause !== null) continue;
        }
        const again = error instanceof Unreachable || (error instanceof ApiError && error.retryAfter !== null);
        const away = sent.last !== undefined && Date.now() - heard > AWAY_SECONDS * 1000;
        if (!again || away || (verb !== "GET" && !events.last)) throw error;
      }
      if (verb !== "GET" && !events.last) throw new TandemError("the stream ended before its first event");
      const [first, longest] = PAUSES;
      await rest(Math.min(longest, first * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2), sent.signal);
      attempt += 1;
    }
  }

  async *#texts(verb: string, path: string, sent: Sent, last: string): AsyncGenerator<string> {
    const silence = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_SECONDS * 1000);
    };
    heard();
    const signal = sent.signal ? AbortSignal.any([sent.signal, silence.signal]) : silence.signal;
    const headers = { accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) };
    try {
      const response = await this.#send(verb, path, { ...sent, signal }, headers);
      if (!response.ok) {
        const answered = await this.#read(response, sent.signal);
        throw failure(answered.status, answered.body, answered.headers);
      }
      const decoder = new TextDecoder();
      for await (const bytes of this.#chunks(response, sent.signal)) {
        heard();
        yield decoder.decode(bytes, { stream: true });
      }
    } catch (error) {
      throw error instanceof TandemError ? error : this.#unreachable(error, sent.signal);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  async *#chunks(response: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    try {
      while (reader) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw this.#unreachable(error, signal);
    }
  }

  /** Send once, and read all of the answer. */
  async #whole(verb: string, path: string, sent: Sent): Promise<Answered> {
    const late = new AbortController();
    const seconds = sent.timeout ?? ANSWER_SECONDS;
    const timer = setTimeout(() => late.abort(new Error(`nothing within ${seconds} s`)), seconds * 1000);
    const signal = sent.signal ? AbortSignal.any([sent.signal, late.signal]) : late.signal;
    try {
      return await this.#read(await this.#send(verb, path, { ...sent, signal }), sent.signal);
    } catch (error) {
      throw error instanceof TandemError ? error : this.#unreachable(error, sent.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(response: Response, signal: AbortSignal | undefined): Promise<Answered> {
    try {
      return new Answered(response, new Uint8Array(await response.arrayBuffer()));
    } catch (error) {
      throw this.#unreachable(error, signal);
    }
  }

  async #send(verb: string, path: string, sent: Sent, headers: Record<string, string> = {}): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(sent.query ?? {})) {
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each !== undefined && each !== null) query.append(name, typeof each === "string" ? each : JSON.stringify(each));
      }
    }
    const address = `${this.url}${path}${query.size ? `?${query}` : ""}`;
    const opened: Record<string, string> = this.key ? { authorization: `Bearer ${this.key}`, ...headers } : { ...headers };
    const init: RequestInit = { method: verb, headers: opened, redirect: "error", ...(sent.signal ? { signal: sent.signal } : {}) };
    if (sent.body instanceof FormData || sent.body instanceof Uint8Array || sent.body instanceof Blob) init.body = sent.body as BodyInit;
    else if (sent.body !== undefined) {
      init.body = JSON.stringify(sent.body);
      opened["content-type"] = "application/json";
    }
    return await fetch(address, init);
  }

  /** The error for a connection that broke. One that its caller has ended stays what it is. */
  #unreachable(error: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted && signal.reason === error) return error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return new Unreachable(`${this.url} does not answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause: error });
  }
}

/** How long what is refused for now is asked again. Only what the server says was not done is. */
export class Patience {
  #left: number;

  constructor(seconds: number) {
    this.#left = seconds;
  }

  /** How many seconds the server shall wait for control in place of refusing; null: the failure stays. */
  waitForControl(error: ApiError): number | null {
    if (!(error instanceof HeldByPerson) || error.outcome !== null || error.reason !== "held_by_human" || this.#left <= 0) return null;
    const seconds = Math.min(this.#left, LONGEST_WAIT);
    this.#left -= seconds;
    return seconds;
  }

  /** How many seconds to pause before the next attempt; null: the failure stays. */
  pause(error: ApiError): number | null {
    let seconds: number;
    if (error instanceof HeldByPerson && error.reason === "private" && error.outcome === null) seconds = 1;
    else if ((error instanceof LimitReached || error instanceof Unavailable) && error.retryAfter !== null) seconds = Math.max(error.retryAfter, 0.1);
    else return null;
    if (seconds > this.#left) return null;
    this.#left -= seconds;
    return seconds;
  }
}

/** Pause for so many seconds. Throws the signal's reason when it is aborted. */
export function rest(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, seconds * 1000);
    function done(): void {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
