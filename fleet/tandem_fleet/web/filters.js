// Which sandboxes are shown, and in which order.

/** @typedef {import("./service.js").Sandbox} Sandbox */
/** @typedef {{text: string, state: string, needsMe: boolean}} Filter */
/** @typedef {"needs" | "name" | "newest" | "state"} Order */

const STATES = ["failed", "ready", "starting", "creating", "paused", "stopping", "stopped"];

/** Whether a sandbox is shown. Words are looked for in its name, id and labels; `name=value` is a whole label. @param {Sandbox} sandbox @param {number} asked @param {Filter} filter */
export function matches(sandbox, asked, { text, state, needsMe }) {
  if ((state && sandbox.state !== state) || (needsMe && !asked && sandbox.state !== "failed")) return false;
  const labels = Object.entries(sandbox.labels).map(([name, value]) => `${name}=${value}`);
  const words = [sandbox.name, sandbox.id, ...labels].map((word) => word.toLowerCase());
  return text.toLowerCase().split(/\s+/).every((word) => (word.includes("=") ? words.includes(word) : words.some((own) => own.includes(word))));
}

/** Which of two comes first. @param {Order} order @param {(sandbox: Sandbox) => number} asked how many requests one has */
export function comparison(order, asked) {
  const byName = (/** @type {Sandbox} */ one, /** @type {Sandbox} */ other) => one.name.localeCompare(other.name, undefined, { numeric: true });
  const byState = (/** @type {Sandbox} */ one, /** @type {Sandbox} */ other) => STATES.indexOf(one.state) - STATES.indexOf(other.state);
  return (/** @type {Sandbox} */ one, /** @type {Sandbox} */ other) => {
    if (order === "newest") return Date.parse(other.created_at) - Date.parse(one.created_at) || byName(one, other);
    if (order === "state") return byState(one, other) || byName(one, other);
    if (order === "needs") return Number(asked(other) > 0) - Number(asked(one) > 0) || byName(one, other);
    return byName(one, other);
  };
}
