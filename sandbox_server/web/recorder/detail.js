// What one row of the list opens: request and outcome, output, what was asked and answered, what a person changed with pictures of before and after.

import { element } from "/static/checkpoints/elements.js";
import { size } from "/static/checkpoints/format.js";
import { pieces } from "./elements.js";
import { fields, listed, number, printable, shortText } from "./fields.js";
import { actorOf } from "./rows.js";
import { answerOf, changesOf, nameOf, resultOf, sentence } from "./sentences.js";
import { duration, isKey, moment, translate } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./strings.js").StringKey} StringKey */

/** Characters of a text that is shown whole. */
const MAX_TEXT = 8000;
const MAX_LISTED = 200;
/** Where pictures of receipts are. */
const PICTURES = /^\/v1\/recorder\/thumbnails\/[0-9a-f]{16}-(?:before|after)$/;
/** Fields of requests that have a place of their own. */
const SHOWN = new Set(["command", "cmd", "code"]);

/**
 * @typedef {object} DetailActions
 * @property {(n: number) => Promise<Entry>} read one event whole
 * @property {(at: number) => void} play from a moment
 * @property {(at: number) => void} link to a moment
 * @property {() => boolean} mayGoBack whether the reader may restore files
 * @property {(row: Row, place: HTMLElement) => void} goBack ask in a place whether the files go back to before a row
 */

/** @param {Row} row @param {string | null} me @param {DetailActions} actions */
export function detail(row, me, actions) {
  const [entry] = row.entries;
  const place = element("div", "detail");
  place.append(...(row.entries.length > 1 ? [burst(row, me)] : whole(entry, row, me)), ...buttons(row, actions));
  const unread = [entry, row.ended].find((each) => each?.more);
  if (unread) fill(/** @type {HTMLElement} */ (place.querySelector(".output")), unread, actions);
  return place;
}

/** @param {HTMLElement | null} place @param {Entry} entry @param {DetailActions} actions */
async function fill(place, entry, actions) {
  if (!place) return;
  try {
    place.textContent = long(fields((await actions.read(entry.n)).result).output) || translate("noOutput");
  } catch (error) {
    place.textContent = translate("failed", { reason: /** @type {Error} */ (error).message });
  }
}

/** @param {unknown} value */
const long = (value) => (typeof value === "string" ? printable(value.slice(0, MAX_TEXT)) : "");

/** @param {Entry} entry @param {Row} row @param {string | null} me */
function whole(entry, row, me) {
  return [...texts(entry, row), ...changed(entry), facts([...about(entry, row, me), ...request(entry)])];
}

/** The long texts: command, output, what was asked. @param {Entry} entry @param {Row} row */
function texts(entry, row) {
  const asked = fields(entry.request);
  const command = long(asked.command ?? asked.cmd ?? asked.code ?? entry.command);
  const output = entry.more || row.ended?.more;
  return [
    ...(command && entry.kind === "command" ? [block("commandLine", command)] : []),
    ...(output ? [block("output", translate("loading"), "output")] : []),
    ...(entry.kind === "command" && entry.operation && !output ? [element("p", "muted", translate("noOutput"))] : []),
    ...(entry.error ? [block("error", long(entry.error))] : []),
    ...(entry.reason ? [block(entry.kind === "egress" ? "outcome" : "reason", long(entry.reason))] : []),
    ...(entry.note ? [block("note", long(entry.note))] : []),
  ];
}

/** @param {StringKey} title @param {string} text @param {string} [look] */
function block(title, text, look = "") {
  const place = element("div", "block");
  place.append(element("h3", "", translate(title)), element("pre", look, text));
  return place;
}

/** Name and value of what is known of an event. @param {Entry} entry @param {Row} row @param {string | null} me @returns {[string, string][]} */
function about(entry, row, me) {
  const result = resultOf(entry, row.ended);
  const outcome = shortText(entry.outcome);
  const why = `why_${outcome}`;
  const told = outcome === "ok" ? translate("ok") : isKey(why) ? translate(why).replace(/^\W+\s*|^：/, "") : outcome;
  const closed = entry.kind === "handoff" ? (entry.event === "closed" ? entry : row.ended) : undefined;
  /** @type {[StringKey, string][]} */
  const found = [
    ["when", moment(entry.at)],
    ["who", nameOf(actorOf(entry), me)],
    ["answer", closed ? answerOf(closed) : ""],
    ["outcome", entry.operation ? [told, shortText(result.status)].filter(Boolean).join(" · ") : ""],
    ["took", entry.ms === undefined ? "" : duration(number(entry.ms) ?? 0)],
    ...connection(entry),
    ["session", shortText(entry.session ?? fields(entry.request).session_id)],
    ["scope", listed(entry.scope).map((reach) => (["gui", "cdp", "shell"].includes(String(reach)) ? translate(/** @type {StringKey} */ (reach)) : shortText(reach))).join(", ")],
    ["note", number(entry.note_length) ? translate("noteLength", { count: /** @type {number} */ (entry.note_length) }) : ""],
    ["operation", shortText(entry.operation)],
    ["surface", shortText(entry.surface).toUpperCase()],
    ["record", translate("recordNumber", { n: entry.n, hash: shortText(entry.hash).slice(0, 12) })],
  ];
  return found.filter(([, value]) => value).map(([key, value]) => [translate(key), value]);
}

/** What is known of a connection. @param {Entry} entry @returns {[StringKey, string][]} */
function connection(entry) {
  const { host, port, protocol, address, rule, process, request: asked, bytes_sent: sent, bytes_received: received } = fields(entry);
  if (entry.kind !== "egress") return [["rule", shortText(rule)]];
  const moved = { sent: size(number(sent) ?? 0), received: size(number(received) ?? 0) };
  return [
    ["place", [shortText(host, 255), shortText(port), shortText(protocol), shortText(address), shortText(asked, 200)].filter(Boolean).join(" · ")],
    ["rule", shortText(rule)],
    ["program", shortText(process, 300)],
    ["bytesMoved", number(sent) === null ? "" : translate("bytesBoth", moved)],
  ];
}

/** The fields of a request, and the details of an approval, by their own names. @param {Entry} entry @returns {[string, string][]} */
function request(entry) {
  const asked = Object.entries(fields(entry.request)).filter(([name]) => !SHOWN.has(name));
  return [...asked, ...Object.entries(fields(fields(entry).details))]
    .map(([name, value]) => [shortText(name), shortText(typeof value === "object" ? JSON.stringify(value) : value, 300)]);
}

/** @param {[string, string][]} found */
function facts(found) {
  const list = element("dl", "facts");
  for (const [name, value] of found) list.append(element("dt", "", name), element("dd", "", value));
  return list;
}

/** What a receipt tells. @param {Entry} entry */
function changed(entry) {
  const receipt = fields(entry.receipt);
  if (entry.kind !== "receipt") return [];
  const list = element("ul", "changes");
  for (const change of changesOf(receipt).slice(0, MAX_LISTED)) list.append(element("li", "", change));
  const moved = listed(receipt.tabs).map(fields).filter(({ was, now }) => was && now);
  for (const { was, now } of moved) list.append(element("li", "muted", translate("wasNow", { was: shortText(was, 160), now: shortText(now, 160) })));
  const notes = [
    number(receipt.omitted) && translate("omitted", { count: /** @type {number} */ (receipt.omitted) }),
    listed(receipt.unseen).length && translate("unseen", { list: listed(receipt.unseen).map((each) => shortText(each)).join(", ") }),
    receipt.private === true && translate("wasPrivate"),
    receipt.note && `${translate("note")}: ${shortText(receipt.note, 300)}`,
  ];
  const shown = notes.flatMap((note) => (typeof note === "string" ? [element("p", "muted", note)] : []));
  return [pictures(receipt), ...(list.childElementCount ? [list] : []), ...shown];
}

/** The screen before and after. @param {Record<string, unknown>} receipt */
function pictures(receipt) {
  const place = element("div", "pictures");
  for (const when of /** @type {const} */ (["before", "after"])) {
    const address = receipt[when];
    if (typeof address !== "string" || !PICTURES.test(address)) continue;
    const figure = element("figure");
    const picture = Object.assign(/** @type {HTMLImageElement} */ (document.createElement("img")), { src: address, alt: translate("pictureOf", { when: translate(when) }) });
    picture.onerror = () => picture.replaceWith(element("p", "muted", translate("pictureGone")));
    figure.append(picture, element("figcaption", "", translate(when)));
    place.append(figure);
  }
  return place;
}

/** The inputs of a burst, each in a line. @param {Row} row @param {string | null} me */
function burst(row, me) {
  const list = element("ol", "burst");
  for (const entry of row.entries) {
    const item = element("li");
    item.append(element("time", "", moment(entry.at)), " ", ...pieces(sentence({ n: entry.n, from: entry.at, at: entry.at, entries: [entry] }, me)));
    list.append(item);
  }
  return list;
}

/** @param {Row} row @param {DetailActions} actions */
function buttons(row, actions) {
  const place = element("div", "tools");
  for (const [key, act] of /** @type {const} */ ([["playHere", actions.play], ["copyLink", actions.link]])) {
    const button = element("button", "button quiet", translate(key));
    button.onclick = () => act(row.from);
    place.append(button);
  }
  return [place, ...goingBack(row, actions, place)];
}

/** A button to go back to before it, and the place where that is asked. @param {Row} row @param {DetailActions} actions @param {HTMLElement} tools @returns {HTMLElement[]} */
function goingBack(row, actions, tools) {
  if (!actions.mayGoBack()) return [];
  const asked = element("div", "asked");
  const button = element("button", "button quiet", translate("backBefore"));
  button.onclick = () => actions.goBack(row, asked);
  tools.append(button);
  return [asked];
}
