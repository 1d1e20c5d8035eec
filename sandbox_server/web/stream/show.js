// What is seen: frames are decoded as they arrive, drawn in their order, and what moves evenly in its rhythm.

import { decompress } from "/static/vendor/fzstd.mjs";
import { Film } from "./decoders/film.js";
import { decodeJpeg, pixelsOf } from "./decoders/jpeg.js";
import { Picture } from "./picture.js";
import { Rhythm } from "./rhythm.js";

/** @typedef {import("./wire.js").Area} Area */
/** @typedef {import("./wire.js").Operation} Operation */
/** @typedef {{map: {kind: string, area: Area}[], tracked: boolean, age: number | undefined}} Seen what was sent how; whether something came by the track, and when */
/** @typedef {{operation: Operation, bitmap?: Promise<ImageBitmap>, film?: Film, frame?: Promise<VideoFrame | undefined>}} Begun */

const MAX_CHANGED = 24;
/** While a person acts, what is seen is not held for any rhythm. */
const ACTING_MS = 500;
/** Where the browser shows nothing, it tells of no refresh. */
const NO_REFRESH_MS = 50;

export class Show {
  #picture = new Picture(1, 1);
  #image = new ImageData(1, 1);
  /** @type {Map<number, Film>} those that are decoded */
  #coming = new Map();
  /** @type {Map<number, Film>} those that are seen */
  #films = new Map();
  /** @type {Map<number, Area[]>} where the picture lies over a film */
  #over = new Map();
  /** Of the pictures of films, and of frames while there is no film. */
  #film = new Rhythm();
  #steps = new Rhythm();
  #acted = -ACTING_MS;
  /** @type {Promise<unknown>} */
  #order = Promise.resolve();
  /** @type {{kind: string, area: Area}[]} */
  #map = [];
  /** Whether to note what was sent how. */
  mapped = false;
  /** @type {Promise<number | undefined>[]} pictures that the track carries of this frame */
  #tracked = [];
  /** @type {Promise<unknown>} */
  #told = Promise.resolve();

  /**
   * @param {OffscreenCanvas} canvas
   * @param {import("./track.js").Track} track
   */
  constructor(canvas, track) {
    this.canvas = canvas;
    this.track = track;
    this.context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false, desynchronized: true }));
  }

  /** @returns {number} how many pictures were late since this was asked last */
  takeLate() {
    const late = this.#film.late + this.#steps.late;
    this.#film.late = this.#steps.late = 0;
    return late;
  }

  /** The person does something, and waits for what comes of it. */
  acted() {
    this.#acted = performance.now();
  }

  /**
   * Have a picture of that size; what there was of another size is gone.
   * @param {number} width
   * @param {number} height
   * @returns {Promise<boolean>} whether it is another size, once it is
   */
  resize(width, height) {
    this.#coming.clear();
    return this.#then(() => {
      this.#endFilms();
      this.track.stop();
      if (this.#picture.width === width && this.#picture.height === height) return false;
      this.#picture = new Picture(width, height);
      this.#image = new ImageData(/** @type {any} */ (new Uint8ClampedArray(this.#picture.pixels.buffer)), width, height);
      this.canvas.width = width;
      this.canvas.height = height;
      return true;
    });
  }

  /**
   * Do a part of a frame, and show the frame where it is the last.
   * @param {{last: boolean, operations: Operation[]}} part
   * @returns {Promise<Seen>} once the frame is ready to be seen; rejected where it is none
   */
  take({ last, operations }) {
    const arrived = performance.now();
    const begun = operations.map((operation) => this.#begin(operation));
    const rhythm = last ? this.#rhythm(begun, arrived) : undefined;
    const done = this.#then(async () => {
      for (const one of begun) await this.#do(one);
      return last ? { map: this.#map.splice(0), pictures: this.#tracked.splice(0) } : { map: [], pictures: [] };
    });
    if (rhythm) this.#then(() => this.#beat(rhythm, arrived));
    if (last) this.#then(() => this.#draw());
    const told = Promise.all([done, this.#told]).then(async ([{ map, pictures }]) => {
      const ages = await Promise.all(pictures);
      return { map, tracked: ages.length > 0, age: ages[ages.length - 1] };
    });
    this.#told = told.catch(() => undefined);
    return told;
  }

  /**
   * @param {Begun[]} begun the end of a frame
   * @param {number} arrived
   * @returns {Rhythm | undefined} that in which the frame is to be seen
   */
  #rhythm(begun, arrived) {
    const isFilm = begun.some(({ film }) => film);
    if (!isFilm && this.#coming.size) return undefined;
    const rhythm = isFilm ? this.#film : this.#steps;
    rhythm.arrived(arrived);
    return isFilm || rhythm.even ? rhythm : undefined;
  }

  /** @template T @param {() => T | Promise<T>} work @returns {Promise<T>} */
  #then(work) {
    const done = this.#order.then(work);
    this.#order = done.catch(() => undefined);
    return done;
  }

  /** @param {Operation} operation @returns {Begun} */
  #begin(operation) {
    if (operation.kind === "jpeg") return { operation, bitmap: begun(decodeJpeg(operation.body)) };
    if (operation.kind === "film ends") this.#coming.delete(operation.number);
    if (operation.kind !== "film") return { operation };
    const film = this.#coming.get(operation.number) ?? new Film();
    this.#coming.set(operation.number, film);
    return { operation, film, frame: begun(film.decode(operation)) };
  }

  /** @param {Begun} begun */
  async #do({ operation, bitmap, film, frame }) {
    switch (operation.kind) {
      case "exact":
        this.#note("exact", this.#picture.exact(decompress(operation.packed, new Uint8Array(operation.length))));
        break;
      case "moves":
        this.#note("moves", this.#picture.move(operation.moves));
        break;
      case "keep":
        this.#picture.keep(operation.tiles);
        break;
      case "kept":
        this.#note("kept", this.#picture.put(operation.tiles));
        break;
      case "jpeg":
        this.#picture.paste(operation.area, pixelsOf(await /** @type {Promise<ImageBitmap>} */ (bitmap), operation.area));
        this.#note("jpeg", [operation.area]);
        break;
      case "film":
        if (this.#films.get(operation.number) !== film) this.#endFilm(operation.number);
        this.#films.set(operation.number, /** @type {Film} */ (film));
        film?.show(await frame, operation.area);
        this.#note("film", [operation.area]);
        break;
      case "tracked":
        this.#tracked.push(this.track.place(operation));
        this.#note("film", [operation.area]);
        break;
      case "film ends":
        this.#endFilm(operation.number);
        this.#then(this.track.end(operation.number));
        this.#over.delete(operation.number);
        break;
      case "over":
        this.#picture.check(operation.areas);
        this.#over.set(operation.number, operation.areas);
        this.track.over(operation.number, operation.areas);
    }
  }

  /**
   * Wait until a frame is to be seen.
   * @param {Rhythm} rhythm
   * @param {number} arrived
   */
  async #beat(rhythm, arrived) {
    let now = performance.now();
    while (now - this.#acted > ACTING_MS) {
      const told = await refresh();
      now = told === undefined ? performance.now() : rhythm.refreshed(performance.now(), told);
      if (rhythm.isDue(now, arrived)) break;
    }
    rhythm.shown(now, arrived);
  }

  /** @param {number} number of a film; the picture is seen again where it was */
  #endFilm(number) {
    const film = this.#films.get(number);
    if (film?.area.width) this.#picture.changed.push(film.area);
    film?.close();
    this.#films.delete(number);
  }

  #endFilms() {
    for (const number of [...this.#films.keys()]) this.#endFilm(number);
    this.#over.clear();
  }

  /**
   * @param {string} kind
   * @param {Area[]} areas
   */
  #note(kind, areas) {
    if (this.mapped) this.#map.push(...areas.map((area) => ({ kind, area })));
  }

  #draw() {
    const changed = this.#picture.take();
    this.#drawPicture(changed.length > MAX_CHANGED ? [around(changed)] : changed);
    for (const [number, film] of this.#films) {
      film.draw(this.context);
      this.#drawPicture(this.#over.get(number) ?? []);
    }
  }

  /** @param {Area[]} areas */
  #drawPicture(areas) {
    for (const { x, y, width, height } of areas) this.context.putImageData(this.#image, 0, 0, x, y, width, height);
  }
}

/** @template T @param {Promise<T>} work whose failure is met when its turn comes @returns {Promise<T>} */
function begun(work) {
  work.catch(() => undefined);
  return work;
}

/** @returns {Promise<number | undefined>} when the screen is about to be refreshed: at the time that the browser tells; none where it tells of nothing */
function refresh() {
  return new Promise((done) => {
    const patience = setTimeout(() => done(undefined), NO_REFRESH_MS);
    requestAnimationFrame((told) => {
      clearTimeout(patience);
      done(told);
    });
  });
}

/** @param {Area[]} areas @returns {Area} the smallest that holds them all */
function around(areas) {
  const x = Math.min(...areas.map((area) => area.x));
  const y = Math.min(...areas.map((area) => area.y));
  const right = Math.max(...areas.map((area) => area.x + area.width));
  const bottom = Math.max(...areas.map((area) => area.y + area.height));
  return { x, y, width: right - x, height: bottom - y };
}
