// All sandboxes as tiles: filtered, in an order, with the keyboard, and which of them are in sight.

import { arrange } from "./elements.js";
import { comparison, matches } from "./filters.js";
import { Tile } from "./tile.js";

/** @typedef {import("./service.js").Sandbox} Sandbox */
/** @typedef {import("./filters.js").Filter} Filter */
/** @typedef {import("./filters.js").Order} Order */

const SOON_MS = 150;
const MARGIN = "60px";
/** How many the service takes. */
const MOST_IN_SIGHT = 200;

export class TileGrid {
  /** @type {Map<string, Tile>} */
  #tiles = new Map();
  /** @type {Map<Element, Tile>} */
  #byElement = new Map();
  /** @type {Set<Tile>} */
  #seen = new Set();
  /** @type {Map<string, number>} */
  #asked = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Filter} */
  #filter = { text: "", state: "", needsMe: false };
  /** @type {Order} */
  #order = "needs";

  /**
   * @param {HTMLElement} list
   * @param {(sandbox: Sandbox) => void} open
   * @param {(ids: string[]) => void} sight is called with what is in sight
   */
  constructor(list, open, sight) {
    this.list = list;
    this.open = open;
    this.sight = sight;
    this.watcher = new IntersectionObserver((entries) => this.#crossed(entries), { rootMargin: MARGIN });
    document.addEventListener("visibilitychange", () => this.tellSight());
    list.addEventListener("keydown", (event) => this.#move(event));
  }

  /** All sandboxes. */
  get sandboxes() {
    return [...this.#tiles.values()].map((tile) => tile.sandbox);
  }

  /** How many are shown. */
  get shown() {
    return this.list.childElementCount;
  }

  /** Show these, and no other. @param {Sandbox[]} sandboxes */
  showAll(sandboxes) {
    const wanted = new Set(sandboxes.map(({ id }) => id));
    for (const id of [...this.#tiles.keys()]) if (!wanted.has(id)) this.#drop(id);
    for (const sandbox of sandboxes) this.#take(sandbox);
    this.arrange();
  }

  /** @param {Sandbox} sandbox as it is now */
  show(sandbox) {
    const before = this.#tiles.get(sandbox.id)?.sandbox;
    this.#take(sandbox);
    if (!before || before.state !== sandbox.state || before.name !== sandbox.name) this.arrange();
  }

  /** @param {string} id of one that is gone */
  remove(id) {
    this.#drop(id);
    this.arrange();
  }

  /** @param {Map<string, number>} asked how many requests each has */
  setAsked(asked) {
    this.#asked = asked;
    for (const tile of this.#tiles.values()) tile.show(tile.sandbox, this.#count(tile.sandbox));
    this.arrange();
  }

  /** @param {Filter} filter @param {Order} order */
  choose(filter, order) {
    this.#filter = filter;
    this.#order = order;
    this.arrange();
  }

  /** Put the tiles that match into their order. */
  arrange() {
    const shown = [...this.#tiles.values()].filter(({ sandbox }) => matches(sandbox, this.#count(sandbox), this.#filter));
    const compare = comparison(this.#order, (sandbox) => this.#count(sandbox));
    arrange(this.list, shown.sort((one, other) => compare(one.sandbox, other.sandbox)).map((tile) => tile.element));
  }

  /** Show ages again. @param {number} now in milliseconds */
  tick(now) {
    for (const tile of this.#seen) tile.tick(now);
  }

  /** Tell soon what is in sight: nothing on a page that is hidden. */
  tellSight() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const seen = document.hidden ? [] : [...this.#seen].filter((tile) => tile.element.isConnected);
      this.sight(seen.slice(0, MOST_IN_SIGHT).map((tile) => tile.sandbox.id));
    }, SOON_MS);
  }

  /** @param {Sandbox} sandbox */
  #count = (sandbox) => this.#asked.get(sandbox.id) ?? 0;

  /** @param {Sandbox} sandbox */
  #take(sandbox) {
    const known = this.#tiles.get(sandbox.id);
    if (known) return known.show(sandbox, this.#count(sandbox));
    const tile = new Tile(sandbox, this.open);
    tile.show(sandbox, this.#count(sandbox));
    this.#tiles.set(sandbox.id, tile);
    this.#byElement.set(tile.element, tile);
    this.watcher.observe(tile.element);
  }

  /** @param {string} id */
  #drop(id) {
    const tile = this.#tiles.get(id);
    if (!tile) return;
    this.watcher.unobserve(tile.element);
    tile.element.remove();
    this.#seen.delete(tile);
    this.#byElement.delete(tile.element);
    this.#tiles.delete(id);
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #crossed(entries) {
    for (const { target, isIntersecting } of entries) {
      const tile = this.#byElement.get(target);
      if (!tile) continue;
      tile.inSight = isIntersecting;
      if (isIntersecting) this.#seen.add(tile);
      else this.#seen.delete(tile);
    }
    this.tellSight();
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const buttons = [...this.list.querySelectorAll("button")];
    const at = buttons.findIndex((button) => button === document.activeElement);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const top = buttons[0].offsetTop;
    const columns = buttons.filter((button) => button.offsetTop === top).length;
    const steps = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns });
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    buttons[at + steps[event.key]]?.focus();
  }
}
