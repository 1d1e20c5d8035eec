// Tells a person of what the policy kept a page from, and by which rule: what the browser shows of it says something else.

import { call } from "/static/api.js";
import { plainText } from "/static/requests/plain_text.js";
import { revealed } from "/static/requests/revealed.js";
import { isGrantable, stateOf } from "./connection_groups.js";
import { makeGrant } from "./network_client.js";
import { translate } from "./strings.js";

/** @typedef {import("./network_client.js").Connection} Connection */
/** @typedef {import("./network_client.js").EgressNews} EgressNews */
/** @typedef {import("../bar/notices.js").Notices} Notices */

/** Seconds that a refusal is news for a page that has just opened. */
const RECENT_SECONDS = 20;
/** How long a host that was told of is not told of again. */
const AGAIN_MS = 60_000;
const MAX_HOST = 120;
const MAX_MESSAGE = 300;
/** The pauses before the tabs are looked at, each time: a page that has just been refused may not be a tab's yet, on a busy machine for seconds. */
const LOOKS_MS = [0, 1500, 5000];
/** Whose refusals are told: the desktop's, where the browser is. */
const SESSION = "desktop";
const BROWSER = /(?:^|\/)chrom(?:e|ium)\b/;

export class BlockedPages {
  /** The newest connection that is known. */
  #newest = -1;
  /** When each place was told of. @type {Map<string, number>} */
  #told = new Map();

  /** @param {Notices} notices */
  constructor(notices) {
    this.notices = notices;
  }

  /** @param {EgressNews} news @returns {Promise<void>} when all is told */
  take({ connections }) {
    const first = this.#newest < 0;
    const recent = Date.now() / 1000 - RECENT_SECONDS;
    const fresh = connections.filter(({ id, at, ended }) => (first ? (ended ?? at) > recent : id > this.#newest));
    this.#newest = connections.reduce((newest, { id }) => Math.max(newest, id), Math.max(0, this.#newest));
    const blocked = fresh.filter(isByBrowser).toSorted((one, other) => one.id - other.id);
    return blocked.length ? this.#tellOfPages(blocked) : Promise.resolve();
  }

  /** Tell of those that a tab shows: a browser connects to much else. @param {Connection[]} blocked */
  async #tellOfPages(blocked) {
    for (const wait of LOOKS_MS) {
      if (wait) await new Promise((done) => setTimeout(done, wait));
      const hosts = await hostsOfTabs();
      for (const each of blocked) if (hosts.has(each.host)) this.#tell(each);
      if (blocked.every(({ host }) => hosts.has(host))) return;
    }
  }

  /** @param {Connection} connection */
  #tell({ host, port, protocol, rule }) {
    const id = `blocked-${host}:${port}`;
    if (performance.now() - (this.#told.get(id) ?? -Infinity) < AGAIN_MS) return;
    this.#told.set(id, performance.now());
    const place = `${revealed(host, MAX_HOST)}:${port}`;
    const text = translate(protocol === "http" ? "blocked" : "blockedTls", { place, rule: revealed(rule, MAX_HOST) });
    const grant = (/** @type {"task" | "always"} */ duration) => () => this.#allow(id, { host, port, protocol: protocol || null, action: "allow", duration });
    const allowing = isGrantable(rule) ? [{ id: `${id}-task`, text: translate("allow"), act: grant("task") }, { id: `${id}-always`, text: translate("always"), quiet: true, act: grant("always") }] : [];
    this.notices.keep({ id, text, actions: [...allowing, { id: `${id}-no`, text: translate("dismiss"), quiet: true, act: async () => this.notices.drop(id) }] });
  }

  /** @param {string} id @param {Parameters<typeof makeGrant>[0]} grant */
  async #allow(id, grant) {
    try {
      await makeGrant(grant);
      this.notices.drop(id);
      this.notices.notify(translate("allowedReload", { host: revealed(grant.host, MAX_HOST) }));
    } catch (error) {
      this.notices.notify(translate("failed", { reason: plainText(/** @type {Error} */ (error).message, MAX_MESSAGE) }));
    }
  }
}

/** The hosts of the pages that are open. @returns {Promise<Set<string>>} */
async function hostsOfTabs() {
  /** @type {{url: string}[]} */
  const tabs = await call("GET", "/v1/browser/tabs").catch(() => []);
  return new Set(tabs.flatMap(({ url }) => (URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, "")] : [])));
}

/** Whether the policy kept the browser from it. @param {Connection} connection */
export function isByBrowser(connection) {
  return stateOf(connection) === "refused" && (connection.session === SESSION || BROWSER.test(connection.process?.command ?? ""));
}
