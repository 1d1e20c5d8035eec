// Sandboxes of a fleet, by its service.

import { Connection } from "./connection.js";
import { TandemError, isRecord } from "./errors.js";

/** Seconds that the fleet waits at most until a sandbox is ready. */
const LONGEST_WAIT = 600;
const TOKEN_SECONDS = 86_400;
const SCOPES = ["browser", "code", "files", "shell", "view"];

/** A sandbox of a fleet that was made here. */
export interface FleetSandbox {
  readonly url: string;
  readonly key: string;
  readonly id: string;
}

/** Make a sandbox of the fleet at a URL, with a token of a day for what an agent does. */
export async function startInFleet(
  fleet: Connection,
  name: string | undefined,
  env: Readonly<Record<string, string>>,
  timeout: number,
): Promise<FleetSandbox> {
  const body = { ...(name ? { name } : {}), ...(Object.keys(env).length ? { environment: env } : {}) };
  const wait = Math.min(Math.round(timeout), LONGEST_WAIT);
  const made = record(await fleet.call("POST", "/v1/sandboxes", { query: { wait }, body, timeout: wait + 30 }));
  const id = String(made.id);
  try {
    if (made.state !== "ready") throw new TandemError(`${made.name} is ${made.state}: ${made.reason ?? "it was not ready in time"}`);
    const given = record(await fleet.call("PUT", `/v1/sandboxes/${id}/token`, { body: { scopes: SCOPES, seconds: TOKEN_SECONDS } }));
    return { url: String(given.url ?? given.address), key: String(given.token), id };
  } catch (error) {
    await removeFromFleet(fleet, id).catch(() => undefined);
    throw error;
  }
}

/** Remove a sandbox of a fleet with its files. */
export async function removeFromFleet(fleet: Connection, id: string): Promise<void> {
  await fleet.request("DELETE", `/v1/sandboxes/${id}`);
}

function record(value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new TandemError("the fleet answers otherwise than this client's version knows");
  return value;
}
