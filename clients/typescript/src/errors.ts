/** Any failure of this package. */
export class TandemError extends Error {
  override name = "TandemError";
}

/** Nobody answers at the address, or the connection broke. */
export class Unreachable extends TandemError {
  override name = "Unreachable";
}

/** Something did not happen in time. */
export class TimedOut extends TandemError {
  override name = "TimedOut";
}

/** A command exited otherwise than with 0. */
export class CommandFailed extends TandemError {
  override name = "CommandFailed";

  constructor(
    readonly command: string,
    readonly exitCode: number | null,
    readonly output: string,
  ) {
    super(`${JSON.stringify(command)} exited with ${exitCode}: ${output.trim().slice(-2000)}`);
  }
}

/** The sandbox answered with a failure. */
export class ApiError extends TandemError {
  override name = "ApiError";
  /** The sentence that says why. */
  readonly detail: string;
  /** What to do about it, where the sandbox says so. */
  readonly hint: string | null;
  /** The values in the message by name. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** Seconds after which to try again; null where waiting does not help. */
  readonly retryAfter: number | null;

  constructor(
    /** The HTTP status. */
    readonly status: number,
    body: unknown,
    headers: Headers,
  ) {
    const given = isRecord(body) ? body : { message: String(body).slice(0, 2000) };
    const text = String(given.message ?? given.detail ?? given.error ?? "no reason was given");
    const hint = typeof given.hint === "string" ? given.hint : null;
    super(`${text} (HTTP ${status})${hint ? `. ${hint}` : ""}`);
    this.detail = text;
    this.hint = hint;
    this.data = isRecord(given.data) ? given.data : {};
    this.requestId = headers.get("x-request-id") ?? "";
    const after = headers.get("retry-after") ?? "";
    this.retryAfter = /^\d+(\.\d*)?$/.test(after) ? Number(after) : null;
  }

  /** A word for it, or nothing. */
  get reason(): string {
    return typeof this.data.reason === "string" ? this.data.reason : "";
  }

  /** The epoch of control, which grows whenever somebody else may act; null where the failure has nothing to do with it. */
  get epoch(): number | null {
    return typeof this.data.epoch === "number" ? this.data.epoch : null;
  }
}

/**
 * 423: a person holds control (`held_by_human`), or is `private`: see `reason`.
 *
 * Nothing was done, unless `outcome` is `unknown`: look before you repeat it.
 */
export class HeldByPerson extends ApiError {
  override name = "HeldByPerson";

  /** Who holds control. */
  get holder(): string | null {
    return typeof this.data.holder === "string" ? this.data.holder : null;
  }

  /** `unknown` where a person took over in the middle. */
  get outcome(): string | null {
    return typeof this.data.outcome === "string" ? this.data.outcome : null;
  }
}

/** 409: what was named is in a state that does not allow this now. `stale_epoch` as `reason`: somebody acted since you looked. */
export class Conflict extends ApiError {
  override name = "Conflict";
}

/** 429: a limit is reached. */
export class LimitReached extends ApiError {
  override name = "LimitReached";
}

/** 503: a component starts, restarts or is not enabled. */
export class Unavailable extends ApiError {
  override name = "Unavailable";
}

/** 404: what was named does not exist. */
export class NotFound extends ApiError {
  override name = "NotFound";
}

/** 401 or 403: the key is not known, or may not do this. */
export class PermissionDenied extends ApiError {
  override name = "PermissionDenied";
}

/** 400, 413 or 422: a value makes no sense. */
export class InvalidRequest extends ApiError {
  override name = "InvalidRequest";
}

const BY_STATUS: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequest,
  401: PermissionDenied,
  403: PermissionDenied,
  404: NotFound,
  409: Conflict,
  413: InvalidRequest,
  422: InvalidRequest,
  423: HeldByPerson,
  429: LimitReached,
  503: Unavailable,
};

/** The error for an answer. */
export function failure(status: number, body: unknown, headers: Headers): ApiError {
  return new (BY_STATUS[status] ?? ApiError)(status, body, headers);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
