// Tells a network that blocks WebSockets from a sandbox that does not answer.

const PATIENCE_MS = 5000;
/** What a WebSocket's address answers to a plain request. */
const NOT_UPGRADED = [404, 426];

/**
 * Whether plain requests reach a WebSocket's address where WebSockets do not.
 * @param {string | URL} address of the WebSocket
 */
export async function isBlocked(address) {
  const plain = new URL(address, location.href);
  plain.protocol = plain.protocol.replace("ws", "http");
  plain.searchParams.delete("ticket"); // it works once, and is not for this
  try {
    const answer = await fetch(plain, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    return NOT_UPGRADED.includes(answer.status);
  } catch {
    return false;
  }
}
