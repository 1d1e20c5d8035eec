// The timeline: who drove, a lane for each actor with a mark for each event, and a lane for the recordings. Private time is a band through all.

import { element } from "/static/checkpoints/elements.js";
import { isRefused } from "./connections.js";
import { actorOf, beginning } from "./rows.js";
import { driverOf, nameOf, whoOf } from "./sentences.js";
import { translate } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */
/** @typedef {import("./control_spans.js").ControlSpan} ControlSpan */
/** @typedef {import("./control_spans.js").PrivateSpan} PrivateSpan */
/** @typedef {{from: number, until: number, kind?: string, title?: string, id?: string}} Mark `id`: of a checkpoint */

/** Marks that are nearer than this share of the width are drawn as one. */
const RESOLUTION = 0.001;
/** Marks of the lane of connections, at most. */
const MAX_MARKS = 1000;
/** Kinds whose marks stand out, and are never drawn as one with others. */
const APART = ["checkpoint", "handoff", "refused"];
/** Seconds that the timeline shows at least. */
const SHORTEST = 60;

export class Timeline {
  from = 0;
  until = 1;

  /**
   * @param {HTMLElement} place
   * @param {(at: number) => void} onSeek
   * @param {(checkpoint: string) => void} [onCheckpoint]
   */
  constructor(place, onSeek, onCheckpoint = () => {}) {
    this.place = place;
    place.addEventListener("click", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const track = target.closest(".track");
      if (!track) return;
      if (target.dataset.id) onCheckpoint(target.dataset.id);
      const box = track.getBoundingClientRect();
      onSeek(this.at((event.clientX - box.left) / box.width));
    });
  }

  /** The moment at a share of the width. @param {number} part from 0 to 1 */
  at(part) {
    return this.from + part * (this.until - this.from);
  }

  /** A moment as a share of the width. @param {number} at */
  part(at) {
    return (at - this.from) / (this.until - this.from);
  }

  /**
   * @param {Entry[]} entries those that are listed
   * @param {import("./recordings.js").Recording[]} recordings
   * @param {{drives: ControlSpan[], hidden: PrivateSpan[], me: string | null, until: number, checkpoints?: Mark[]}} more `until`: the moment of the right
   *   edge, at least; `checkpoints`: those that there are
   */
  show(entries, recordings, { drives, hidden, me, until, checkpoints = [] }) {
    this.until = entries.reduce((latest, { at }) => Math.max(latest, at), until);
    this.from = entries.reduce((first, entry) => Math.min(first, beginning(entry)), this.until - SHORTEST);
    const bands = hidden.filter((span) => span.until > this.from).map(({ from, until, who }) => ({ from, until, title: translate("covered", { who: whoOf({ type: "person", name: who }, me) }) }));
    this.place.replaceChildren(
      this.#lane("drives", translate("drives"), drives.filter((span) => span.until > this.from).map((span) => driveMark(span, me)), bands),
      ...lanesOf(entries.filter(({ kind }) => kind !== "egress"), me).map(({ driver, name, done }) => this.#lane(driver, name, this.#merged(done.map(mark)), bands)),
      ...this.#network(entries.filter(({ kind }) => kind === "egress"), bands),
      ...(checkpoints.length ? [this.#lane("checkpoints", translate("checkpoint"), checkpoints.filter((mark) => mark.until > this.from), bands)] : []),
      this.#lane("recordings", translate("recordings"), recordings.filter(({ end }) => end > this.from).map(({ start, end }) => ({ from: start, until: end })), bands),
    );
  }

  /** The lane of connections, if there are any: those that were refused stand out. @param {Entry[]} entries @param {Mark[]} bands */
  #network(entries, bands) {
    if (!entries.length) return [];
    const marks = this.#merged(entries.map(mark)).slice(-MAX_MARKS);
    return [this.#lane("network", translate("egress"), marks, bands)];
  }

  /** Mark the moment that is shown. @param {number} at */
  point(at) {
    const left = `${100 * Math.min(1, Math.max(0, this.part(at)))}%`;
    for (const now of this.place.querySelectorAll(".now")) /** @type {HTMLElement} */ (now).style.left = left;
  }

  /** @param {string} driver @param {string} name @param {Mark[]} marks @param {Mark[]} bands private time */
  #lane(driver, name, marks, bands) {
    const lane = element("div", "lane");
    lane.dataset.driver = driver;
    const track = element("div", "track");
    track.setAttribute("aria-hidden", "true"); // the list has the same events
    track.append(...marks.map((each) => this.#mark("mark", each)), ...bands.map((each) => this.#mark("private", each)), element("span", "now"));
    const label = element("span", "name", name);
    label.title = name;
    lane.append(label, track);
    return lane;
  }

  /** @param {string} look @param {Mark} mark */
  #mark(look, { from, until, kind, title, id }) {
    const made = element("span", look);
    const left = Math.max(0, this.part(from));
    made.style.left = `${100 * left}%`;
    made.style.width = `${100 * Math.max(0, Math.min(1, this.part(until)) - left)}%`;
    if (kind) made.dataset.kind = kind;
    if (title) made.title = title;
    if (id) made.dataset.id = id;
    return made;
  }

  /** Marks that could not be told apart as one, however many there are. @param {Mark[]} marks in order @returns {Mark[]} */
  #merged(marks) {
    const near = RESOLUTION * (this.until - this.from);
    /** @type {Mark[]} */
    const merged = [];
    for (const mark of marks) {
      const last = merged.at(-1);
      if (last && mark.kind === last.kind && isMergeable(mark) && mark.from - last.until <= near) last.until = Math.max(last.until, mark.until);
      else merged.push(mark);
    }
    return merged;
  }
}

/**
 * The lanes: one for each name. What no call told the agent's name of is the agent's where there is only one.
 * @param {Entry[]} entries @param {string | null} me
 */
function lanesOf(entries, me) {
  /** @type {Map<string, {driver: string, name: string, done: Entry[]}>} */
  const lanes = new Map();
  for (const entry of entries) {
    const actor = actorOf(entry);
    const name = nameOf(actor, me);
    const lane = lanes.get(name) ?? { driver: driverOf(actor, me), name, done: [] };
    lane.done.push(entry);
    lanes.set(name, lane);
  }
  const nameless = lanes.get(translate("agent"));
  const agents = [...lanes.values()].filter((lane) => lane.driver === "agent" && lane !== nameless);
  if (nameless && agents.length === 1) {
    agents[0].done = [...agents[0].done, ...nameless.done].sort((one, other) => beginning(one) - beginning(other));
    lanes.delete(nameless.name);
  }
  return [...lanes.values()].sort((one, other) => Number(one.driver === "system") - Number(other.driver === "system"));
}

/** @param {Entry} entry @returns {Mark} */
function mark(entry) {
  const kind = isRefused(entry) ? "refused" : entry.kind;
  return { from: beginning(entry), until: entry.at, kind: APART.includes(kind) ? kind : undefined };
}

/** @param {Mark} mark */
const isMergeable = ({ kind }) => kind === undefined || kind === "refused";

/** @param {ControlSpan} span @param {string | null} me @returns {Mark} */
function driveMark({ from, until, state, holder }, me) {
  const person = /** @type {import("./event_log.js").Entry["actor"]} */ ({ type: "person", name: holder ?? "" });
  const driver = { agent: "agent", frozen: "paused", shared: "shared" }[state] ?? driverOf(person, me);
  return { from, until, kind: driver, title: driver === "you" || driver === "other" ? nameOf(person, me) : undefined };
}
