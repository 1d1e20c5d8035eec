// The hosts that the sandbox connects to, each with its connections and what one can do about it. Rows stay where they are while somebody points at them.

import { element, button } from "/static/checkpoints/elements.js";
import { size, when } from "/static/checkpoints/format.js";
import { programName, sessionName } from "/static/requests/approval.js";
import { revealed } from "/static/requests/revealed.js";
import { isGrantable, stateOf } from "./connection_groups.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./connection_groups.js").HostGroup} HostGroup */
/** @typedef {import("./network_client.js").Connection} Connection */
/** @typedef {"allow" | "always" | "deny"} Choice */
/**
 * @typedef {{item: HTMLLIElement, fields: Record<string, HTMLElement>, tools: HTMLElement, list: HTMLElement, group: HostGroup, decided: number}} HostRow
 *   `decided`: the newest connection when somebody decided about the host */

/** By the state of a host. @type {Record<string, Choice[]>} */
const CHOICES = { refused: ["allow", "always", "deny"], learned: ["always", "deny"] };
const MAX_HOST = 120;
const MAX_COMMAND = 200;
const MAX_TEXT = 300;
/** How long a row that has just moved under a finger cannot be pressed. */
const SETTLE_MS = 500;
/** How long rows keep their order at least, where nothing says what somebody points at. */
const ORDER_MS = 3000;

export class ConnectionList {
  /** @type {Map<string, HostRow>} */
  #rows = new Map();
  #orderedAt = -Infinity;
  #pointed = false;

  /**
   * @param {HTMLElement} list
   * @param {(group: HostGroup, choice: Choice) => Promise<string>} choose gives what was done; empty where nothing was
   */
  constructor(list, choose) {
    this.list = list;
    this.choose = choose;
    list.addEventListener("pointerenter", () => (this.#pointed = true));
    list.addEventListener("pointerleave", () => {
      this.#pointed = false;
      if (!this.#isHeld()) this.#order();
    });
    list.addEventListener("focusout", () => setTimeout(() => this.#isHeld() || this.#order()));
  }

  /** @param {HostGroup[]} groups the newest first */
  show(groups) {
    const before = this.#rows;
    this.#rows = new Map(groups.map((group) => [group.key, before.get(group.key) ?? this.#row(group)]));
    for (const group of groups) this.#fill(/** @type {HostRow} */ (this.#rows.get(group.key)), group);
    for (const [key, { item }] of before) if (!this.#rows.has(key)) item.remove();
    if (this.list.childElementCount && this.#isHeld()) this.#append();
    else this.#order();
  }

  /** Whether somebody points at a row or is in one. */
  #isHeld() {
    return this.#pointed || this.list.contains(document.activeElement) || performance.now() - this.#orderedAt < (matchMedia("(pointer: coarse)").matches ? ORDER_MS : 0);
  }

  #order() {
    const wanted = [...this.#rows.values()].map(({ item }) => item);
    if (wanted.length === this.list.children.length && wanted.every((item, at) => item === this.list.children[at])) return;
    this.list.replaceChildren(...wanted);
    this.#orderedAt = performance.now();
  }

  #append() {
    for (const { item } of this.#rows.values()) if (item.parentElement !== this.list) this.list.append(item);
  }

  /** @param {HostGroup} group @returns {HostRow} */
  #row(group) {
    const item = /** @type {HTMLLIElement} */ (element("li", "host"));
    const fields = {
      state: element("span", "state"), host: element("bdi", "name"), time: element("time", "muted"), facts: element("small", "muted"),
    };
    const tools = element("div", "tools");
    const details = document.createElement("details");
    const list = element("ol", "connections");
    details.append(element("summary", "", translate("connections")), list);
    item.append(fields.state, fields.host, fields.time, fields.facts, tools, details);
    const row = { item, fields, tools, list, group, decided: 0 };
    details.addEventListener("toggle", () => this.#fillConnections(row));
    return row;
  }

  /** @param {HostRow} row @param {HostGroup} group */
  #fill(row, group) {
    const { item, fields } = row;
    const isAnew = row.decided !== 0 && row.decided !== newestOf(group);
    const changed = row.group.state !== group.state || isAnew || row.item.parentElement === null;
    if (changed) row.decided = 0;
    row.group = group;
    item.dataset.state = group.state;
    write(fields.state, translate(group.state));
    fields.state.className = `state ${{ waiting: "waiting", refused: "bad", unreachable: "", learned: "waiting", allowed: "good" }[group.state]}`;
    write(fields.host, named(group));
    write(fields.time, group.connections.length ? when(group.at) : "");
    write(fields.facts, factsOf(group));
    if (changed) this.#showTools(row);
    this.#fillConnections(row);
  }

  /** What one can do, where the policy refused or only noted it. @param {HostRow} row */
  #showTools({ tools, group, fields }) {
    const choices = isGrantable(group.connections[0]?.rule ?? "") ? (CHOICES[group.state] ?? []) : [];
    tools.replaceChildren(...choices.map((choice) => {
      const made = button(translate(choice), () => this.#choose(tools, group.key, choice));
      made.title = translate(`${choice}About`);
      made.setAttribute("aria-label", translate(`${choice}Host`, { host: fields.host.textContent ?? "" }));
      return made;
    }));
    if (group.state === "waiting") tools.append(button(translate("answer"), () => document.querySelector("tandem-requests")?.scrollIntoView({ block: "center" })));
  }

  /** @param {HTMLElement} tools @param {string} key @param {Choice} choice */
  async #choose(tools, key, choice) {
    const row = this.#rows.get(key);
    if (!row || performance.now() - this.#orderedAt < SETTLE_MS) return; // it has just moved here
    const buttons = [...tools.querySelectorAll("button")];
    for (const each of buttons) each.disabled = true;
    const done = await this.choose(row.group, choice);
    for (const each of buttons) each.disabled = false;
    if (!done) return;
    row.decided = newestOf(row.group);
    tools.replaceChildren(element("span", "muted", done));
  }

  /** @param {HostRow} row */
  #fillConnections({ item, list, group }) {
    if (!item.querySelector("details")?.open) return;
    list.replaceChildren(...group.connections.map(connectionItem));
  }
}

/** @param {HostGroup} group */
const newestOf = ({ connections }) => connections[0]?.id ?? 0;

/** @param {HTMLElement} place @param {string} text */
function write(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

/** @param {HostGroup} group */
const named = ({ host, ports }) => `${revealed(host, MAX_HOST)}${ports.length === 1 ? `:${ports[0]}` : ports.length ? ` :${ports.join(", ")}` : ""}`;

/** @param {HostGroup} group */
function factsOf({ connections, count, open, sent, received }) {
  const [newest] = connections;
  if (!newest) return "";
  const parts = [
    whoOf(newest), ruleOf(newest), translateCount("times", count), open ? translate("openNow", { count: open }) : "",
    sent || received ? translate("bytes", { sent: size(sent), received: size(received) }) : "",
  ];
  return parts.filter(Boolean).join(" · ");
}

/** @param {Connection} connection */
const ruleOf = (connection) => (stateOf(connection) === "unreachable" ? "" : translate("byRule", { rule: revealed(connection.rule, MAX_HOST) }));

/** The program and its session, as far as they are known. @param {Connection} connection */
export function whoOf({ process, session }) {
  const program = process ? revealed(programName(process.command), MAX_HOST) : "";
  if (!program && !session) return translate("unknownProgram");
  return [program || translate("unknownProgram"), session ? sessionName(session) : ""].filter(Boolean).join(", ");
}

/** @param {Connection} each */
function connectionItem(each) {
  const item = element("li");
  item.dataset.state = stateOf(each);
  const what = [
    `:${each.port}`, each.protocol.toUpperCase(), each.address ?? "", ruleOf(each),
    each.bytes_sent || each.bytes_received ? translate("bytes", { sent: size(each.bytes_sent), received: size(each.bytes_received) }) : "",
    each.count > 1 ? translateCount("times", each.count) : "", each.ended === null && each.action === "allow" ? translate("stillOpen") : "",
  ];
  item.append(element("time", "", when(each.at)), " ", element("span", "", what.filter(Boolean).join(" · ")));
  for (const text of [each.process?.command, each.request, each.reason]) {
    if (text) item.append(Object.assign(element("code", "verbatim", revealed(text, text === each.process?.command ? MAX_COMMAND : MAX_TEXT)), { dir: "ltr" }));
  }
  return item;
}
