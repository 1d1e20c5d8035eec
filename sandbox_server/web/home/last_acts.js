// The last acts in plain words, as the recorder tells them, live while the page is visible.

import { call } from "/static/api.js";
import { EventStream } from "/static/event_stream.js";
import { element } from "/static/home/elements.js";
import { translate } from "/static/home/strings.js";
import { linkTo } from "/static/recorder/moment_link.js";
import { actorOf, isActing, rowsOf } from "/static/recorder/rows.js";
import { driverOf, isFailed, sentence } from "/static/recorder/sentences.js";
import { moment } from "/static/recorder/strings.js";

/** @typedef {import("/static/recorder/event_log.js").Entry} Entry */
/** @typedef {import("/static/recorder/rows.js").Row} Row */

const KINDS = "command,file,input,navigation,control,handoff,receipt,checkpoint,access";
const MAX_SHOWN = 5;
/** Events that are kept: what closes a request or ends a command belongs to the row of its beginning. */
const MAX_KEPT = 150;
const RETRY_MS = 5000;

export class LastActs {
  /** @type {Entry[]} */
  #entries = [];
  /** Number of the last event that was read. */
  #last = 0;
  #following = false;
  #events = new EventStream(() => `/v1/recorder/events?kind=${KINDS}&after=${this.#last}`, ["event"], {
    event: (_, added) => this.#take(added),
    broken: () => {},
  });
  #drawing = false;

  /**
   * @param {HTMLElement} list
   * @param {string} me the name of who reads
   * @param {() => void} acted when there is a new one
   */
  constructor(list, me, acted) {
    this.list = list;
    this.me = me;
    this.acted = acted;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#stop() : this.start()));
  }

  /** Load the last ones and follow what happens. @returns {Promise<boolean>} whether there is a record that may be read */
  async start() {
    if (this.#following) return true;
    try {
      const { events, next } = await call("GET", `/v1/recorder/events?kind=${KINDS}&limit=${MAX_KEPT}`);
      this.#entries = events;
      this.#last = next;
      if (!document.hidden) this.#follow();
      this.#draw();
      return true;
    } catch (error) {
      if (/** @type {{status?: number}} */ (error).status) return false;
      setTimeout(() => document.hidden || this.start(), RETRY_MS);
      return true;
    }
  }

  #follow() {
    this.#following = true;
    this.#events.open();
  }

  #stop() {
    this.#following = false;
    this.#events.close();
  }

  /** @param {Entry} entry */
  #take(entry) {
    this.#last = entry.n;
    this.#entries = [...this.#entries, entry].slice(-MAX_KEPT);
    this.acted();
    if (this.#drawing) return;
    this.#drawing = true; // a burst is drawn once
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw() {
    const rows = rowsOf(this.#entries).filter(({ entries: [entry] }) => isActing(entry)).slice(-MAX_SHOWN).reverse();
    this.list.replaceChildren(...(rows.length ? rows.map((row) => this.#item(row)) : [element("li", { className: "muted", textContent: translate("noActs") })]));
  }

  /** @param {Row} row */
  #item(row) {
    const [entry] = row.entries;
    const pieces = sentence(row, this.me).map(({ text, code }) => (code ? element("code", { textContent: text }) : text));
    const time = element("a", { href: linkTo(new URL("/recorder", location.href).href, row.at), textContent: moment(row.at) });
    const item = element("li", { className: isFailed(entry, row.ended) ? "failed" : "" }, time, element("span", {}, ...pieces));
    item.dataset.driver = driverOf(actorOf(entry), this.me);
    return item;
  }
}
