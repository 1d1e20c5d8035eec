// The lanes: one for each actor, with a mark for each thing done, and one for what was filmed.

import { say } from "./words.js";

/** @typedef {import("./record.js").Entry} Entry */

export class Lanes {
  from = 0;
  until = 1;

  /**
   * @param {HTMLElement} place
   * @param {(at: number) => void} sought
   */
  constructor(place, sought) {
    this.place = place;
    place.addEventListener("click", (event) => {
      const track = /** @type {HTMLElement} */ (event.target).closest(".track");
      if (!track) return;
      const box = track.getBoundingClientRect();
      sought(this.at((event.clientX - box.left) / box.width));
    });
  }

  /** The moment at a part of the width. @param {number} part from 0 to 1 */
  at(part) {
    return this.from + part * (this.until - this.from);
  }

  /** Where a moment is, from 0 to 1. @param {number} at */
  part(at) {
    return (at - this.from) / (this.until - this.from);
  }

  /**
   * @param {Entry[]} entries
   * @param {import("./film.js").Film[]} films
   */
  show(entries, films) {
    const begins = entries.map((entry) => entry.at - (entry.ms ?? 0) / 1000);
    this.from = Math.min(...begins, Date.now() / 1000 - 60);
    this.until = Math.max(...entries.map(({ at }) => at), Date.now() / 1000);
    /** @type {Map<string, Entry[]>} */
    const actors = new Map();
    for (const entry of entries) {
      const name = `${entry.actor.type} ${entry.actor.name}`;
      actors.set(name, [...(actors.get(name) ?? []), entry]);
    }
    const shown = films.filter(({ end }) => end > this.from);
    this.place.replaceChildren(
      ...[...actors.values()].map((done) => this.#lane(done[0].actor.type, `${say(done[0].actor.type)} · ${done[0].actor.name}`, done.map(span))),
      this.#lane("films", say("films"), shown.map(({ start, end }) => [start, end])),
    );
  }

  /** Draw where we are. @param {number} at */
  point(at) {
    for (const now of this.place.querySelectorAll(".now")) /** @type {HTMLElement} */ (now).style.left = `${100 * this.part(at)}%`;
  }

  /** @param {string} actor @param {string} name @param {number[][]} spans */
  #lane(actor, name, spans) {
    const lane = made("div", "lane");
    lane.dataset.actor = actor;
    const track = made("div", "track");
    track.setAttribute("aria-hidden", "true"); // the list tells the same
    track.append(...spans.map(([from, until]) => this.#mark(from, until)), made("span", "now"));
    const label = made("span", "name");
    label.textContent = label.title = name;
    lane.append(label, track);
    return lane;
  }

  /** @param {number} from @param {number} until */
  #mark(from, until) {
    const mark = made("span", "mark");
    mark.style.left = `${100 * Math.max(0, this.part(from))}%`;
    mark.style.width = `${100 * (this.part(until) - Math.max(0, this.part(from)))}%`;
    return mark;
  }
}

/** When something was done: it is told when it is over. @param {Entry} entry */
function span(entry) {
  return [entry.at - (entry.ms ?? 0) / 1000, entry.at];
}

/** @param {string} tag @param {string} look */
function made(tag, look) {
  const element = document.createElement(tag);
  element.className = look;
  return element;
}
