// The timeline: a lane for each actor, with a mark for each event, and a lane for the recordings of the screen.

import { translate } from "./strings.js";

/** @typedef {import("./event_log.js").Entry} Entry */

export class Timeline {
  from = 0;
  until = 1;

  /**
   * @param {HTMLElement} place
   * @param {(at: number) => void} onSeek
   */
  constructor(place, onSeek) {
    this.place = place;
    place.addEventListener("click", (event) => {
      const track = /** @type {HTMLElement} */ (event.target).closest(".track");
      if (!track) return;
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
   * @param {Entry[]} entries
   * @param {import("./recordings.js").Recording[]} recordings
   */
  show(entries, recordings) {
    const begins = entries.map((entry) => entry.at - (entry.ms ?? 0) / 1000);
    this.from = Math.min(...begins, Date.now() / 1000 - 60);
    this.until = Math.max(...entries.map(({ at }) => at), Date.now() / 1000);
    /** @type {Map<string, Entry[]>} */
    const actors = new Map();
    for (const entry of entries) {
      const name = `${entry.actor.type} ${entry.actor.name}`;
      actors.set(name, [...(actors.get(name) ?? []), entry]);
    }
    const shown = recordings.filter(({ end }) => end > this.from);
    this.place.replaceChildren(
      ...[...actors.values()].map((done) => this.#lane(done[0].actor.type, `${translate(done[0].actor.type)} · ${done[0].actor.name}`, done.map(span))),
      this.#lane("recordings", translate("recordings"), shown.map(({ start, end }) => [start, end])),
    );
  }

  /** Mark the moment that is shown. @param {number} at */
  point(at) {
    for (const now of this.place.querySelectorAll(".now")) /** @type {HTMLElement} */ (now).style.left = `${100 * this.part(at)}%`;
  }

  /** @param {string} actor @param {string} name @param {number[][]} spans */
  #lane(actor, name, spans) {
    const lane = element("div", "lane");
    lane.dataset.actor = actor;
    const track = element("div", "track");
    track.setAttribute("aria-hidden", "true"); // the list has the same events
    track.append(...spans.map(([from, until]) => this.#mark(from, until)), element("span", "now"));
    const label = element("span", "name");
    label.textContent = label.title = name;
    lane.append(label, track);
    return lane;
  }

  /** @param {number} from @param {number} until */
  #mark(from, until) {
    const mark = element("span", "mark");
    mark.style.left = `${100 * Math.max(0, this.part(from))}%`;
    mark.style.width = `${100 * (this.part(until) - Math.max(0, this.part(from)))}%`;
    return mark;
  }
}

/** The span of an event, whose time is its end. @param {Entry} entry */
function span(entry) {
  return [entry.at - (entry.ms ?? 0) / 1000, entry.at];
}

/** @param {string} tag @param {string} look */
function element(tag, look) {
  return Object.assign(document.createElement(tag), { className: look });
}
