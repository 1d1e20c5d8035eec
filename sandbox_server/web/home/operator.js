// The operator's list: protections with their fixes, components, MCP servers, and what this computer is.

import { call } from "/static/api.js";
import { element } from "/static/home/elements.js";
import { StatusList } from "/static/home/status_list.js";
import { translate } from "/static/home/folded_strings.js";

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

/** How long something may take to start before it counts as broken. */
const STARTING_MS = 60_000;
/** Worst first. */
const ORDER = /** @type {const} */ (["lost", "unknown", "holds"]);

/** @typedef {{name: string, status: typeof ORDER[number], detail: string, hint: string | null}} Check */

/** Load everything once. @param {Promise<{checks: Check[]}>} diagnosis */
export function showOperator(diagnosis) {
  const servers = new StatusList(find("#servers"));
  const checks = new StatusList(find("#checks"));
  showProtections(checks, diagnosis).catch((error) => checks.fail(error.message));
  showServers(servers).catch((error) => servers.fail(error.message));
  showMachine().catch((error) => find("#facts").replaceChildren(element("dd", { textContent: error.message })));
}

/** @param {StatusList} list @param {Promise<{checks: Check[]}>} diagnosis */
async function showProtections(list, diagnosis) {
  const { checks } = await diagnosis;
  const tones = /** @type {const} */ ({ holds: "good", lost: "waiting", unknown: "" });
  const sorted = checks.toSorted((one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status));
  list.show(sorted.map(({ name, status, detail, hint }) => ({ name: name.replaceAll("_", " "), state: translate(status), tone: tones[status], detail, hint })));
}

/** @param {StatusList} list */
async function showServers(list) {
  /** @type {{name: string, state: string, tools: number | null, reason: string | null}[]} */
  const found = await call("GET", "/v1/mcp/status");
  const tones = /** @type {Record<string, "good" | "waiting" | "bad" | "">} */ ({ running: "good", starting: "waiting", failed: "bad" });
  const words = /** @type {Record<string, string>} */ ({ stopped: translate("onDemand"), running: translate("running"), starting: translate("starting"), failed: translate("failed") });
  const rows = found.map(({ name, state, reason }) => ({ name: name.replaceAll("_", " "), state: words[state] ?? state, tone: tones[state] ?? "", hint: reason }));
  if (rows.length) list.show(rows);
  else list.fail(translate("noServers"));
}

async function showMachine() {
  const { version, home_dir: home, workspace, detail } = await call("GET", "/v1/sandbox", { whole: true });
  const { os, os_version: release, arch, user, timezone } = detail.system;
  const facts = { system: `${os} ${release}, ${arch}`, user, homeFolder: home, workspace, timezone, version };
  const rows = Object.entries(facts).flatMap(([name, value]) => [element("dt", { textContent: translate(/** @type {"system"} */ (name)) }), element("dd", { textContent: value })]);
  find("#facts").replaceChildren(...rows);
}

/** The components by plain names. One that was never ready is starting for a while before it counts as broken. */
export class Components {
  /** @type {Set<string>} */
  #wereReady = new Set();

  /** @param {HTMLElement} list */
  constructor(list) {
    this.list = new StatusList(list);
  }

  /** @param {Record<string, string>} states */
  show(states) {
    this.list.show(Object.entries(states).map(([name, state]) => ({ name: plainName(name), ...this.#described(name, state) })));
  }

  /** @param {string} name @param {string} state @returns {{state: string, tone: "good" | "waiting" | "bad"}} */
  #described(name, state) {
    if (state === "ready") {
      this.#wereReady.add(name);
      return { state: translate("isReady"), tone: "good" };
    }
    const starts = !this.#wereReady.has(name) && performance.now() < STARTING_MS;
    return starts ? { state: translate("isStarting"), tone: "waiting" } : { state, tone: "bad" };
  }
}

/** Components whose names are ours. */
const NAMES = /** @type {const} */ ({ "desktop-bus": "desktopBus", stream: "liveStream", spawner: "spawner", box: "box", gateway: "gateway", "box-gateway": "previews", browser: "theBrowser", desktop: "desktop" });

/** @param {string} name */
function plainName(name) {
  const key = Object.hasOwn(NAMES, name) ? NAMES[/** @type {keyof typeof NAMES} */ (name)] : null;
  return key ? translate(key) : name.toUpperCase();
}
