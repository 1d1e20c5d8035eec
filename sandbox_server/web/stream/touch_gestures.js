// Touch gestures: a tap clicks, a long press is the right button, two fingers scroll; a pinch is the browser's own zoom.

const SLOP = 10;
const LONG_MS = 500;
const AGAIN_MS = 400;
const AGAIN_SLOP = 30;
const LEFT = 1;
const RIGHT = 4;
const SPEED = 1.4;

/** @typedef {{x: number, y: number}} Place in pixels of the page */

export class TouchGestures {
  /** Whether a finger moves the pointer as on a trackpad, instead of pressing where it touches. */
  trackpad = false;
  /** @type {Place | undefined} where the first finger touched, while it may still be a tap */
  #begun;
  /** @type {Place} where the fingers were last */
  #last = { x: 0, y: 0 };
  /** @type {{at: number, place: Place}} */
  #tapped = { at: -Infinity, place: { x: 0, y: 0 } };
  #apart = 0;
  #timer = 0;
  #dragging = false;
  /** @type {"" | "undecided" | "scroll" | "zoom"} what two fingers do */
  #two = "";

  /**
   * @param {object} pointer that the gestures move
   * @param {() => Place} pointer.place where it is on the page
   * @param {(place: Place, buttons: number) => void} pointer.point
   * @param {(dx: number, dy: number) => void} pointer.wheel
   */
  constructor(pointer) {
    this.pointer = pointer;
  }

  /** @param {TouchEvent} event */
  start(event) {
    if (event.touches.length === 1) return this.#one(at(event.touches)); // not prevented, since a second finger may pinch
    this.#end();
    this.#two = event.touches.length === 2 ? "undecided" : "zoom";
    [this.#last, this.#apart] = [at(event.touches), apart(event.touches)];
    this.#begun = this.#last;
  }

  /** @param {TouchEvent} event */
  move(event) {
    if (this.#two) return this.#both(event);
    if (event.cancelable) event.preventDefault();
    const place = at(event.touches);
    if (this.#begun && far(place, this.#begun, SLOP)) this.#drag();
    if (!this.#begun) this.#follow(place);
  }

  /** @param {TouchEvent} event */
  end(event) {
    if (event.touches.length) return;
    if (!this.#two) event.preventDefault(); // no mouse events, which would take the focus
    if (this.#begun && !this.#two) this.#tap();
    this.#end();
    this.#two = "";
  }

  /** Release the button that is pressed, and forget the gesture. */
  cancel() {
    this.#end();
    this.#two = "";
  }

  /** @param {Place} place of one finger that came down */
  #one(place) {
    this.#begun = this.#last = place;
    this.#timer = setTimeout(() => this.#longPress(), LONG_MS);
  }

  /** A long press: click the right button. */
  #longPress() {
    const place = this.#target();
    this.#begun = undefined;
    this.#timer = 0;
    this.pointer.point(place, 0);
    this.pointer.point(place, RIGHT);
    this.pointer.point(place, 0);
    this.#last = { x: NaN, y: NaN }; // the rest of this touch does nothing
    navigator.vibrate?.(20);
  }

  /** The finger moves: start a drag. On a trackpad only after a tap, else the pointer moves. */
  #drag() {
    clearTimeout(this.#timer);
    const again = performance.now() - this.#tapped.at < AGAIN_MS;
    const place = this.#target();
    this.#begun = undefined;
    if (this.trackpad && !again) return;
    this.#dragging = true;
    this.pointer.point(place, 0);
    this.pointer.point(place, LEFT);
  }

  /** @param {Place} place */
  #follow(place) {
    if (Number.isNaN(this.#last.x)) return;
    const pointer = this.pointer.place();
    const moved = { x: pointer.x + (place.x - this.#last.x) * SPEED, y: pointer.y + (place.y - this.#last.y) * SPEED };
    this.pointer.point(this.trackpad ? moved : place, this.#dragging ? LEFT : 0);
    this.#last = place;
  }

  #tap() {
    const place = this.#target();
    this.pointer.point(place, 0);
    this.pointer.point(place, LEFT);
    this.pointer.point(place, 0);
    this.#tapped = { at: performance.now(), place };
  }

  /** Where a touch acts: on a trackpad at the pointer, else where it began; a second tap where the first was. @returns {Place} */
  #target() {
    if (this.trackpad) return this.pointer.place();
    const { at: before, place } = this.#tapped;
    const begun = this.#begun ?? this.#last;
    return performance.now() - before < AGAIN_MS && !far(begun, place, AGAIN_SLOP) ? place : begun;
  }

  /** Two fingers: in parallel they scroll; towards or from each other they zoom, which is left to the browser. @param {TouchEvent} event */
  #both(event) {
    if (event.touches.length !== 2) return;
    const [place, between] = [at(event.touches), apart(event.touches)];
    if (this.#two === "undecided") {
      const moved = Math.hypot(place.x - this.#last.x, place.y - this.#last.y);
      const spread = Math.abs(between - this.#apart);
      if (Math.max(moved, spread) < SLOP / 2) return;
      this.#two = spread > moved ? "zoom" : "scroll";
    }
    if (this.#two !== "scroll") return;
    if (event.cancelable) event.preventDefault();
    this.pointer.wheel(this.#last.x - place.x, this.#last.y - place.y);
    this.#last = place;
  }

  #end() {
    clearTimeout(this.#timer);
    if (this.#dragging) this.pointer.point(this.trackpad ? this.pointer.place() : this.#last, 0);
    this.#dragging = false;
    this.#begun = undefined;
  }
}

/** @param {TouchList} touches @returns {Place} between the fingers */
function at(touches) {
  const all = [...touches];
  return { x: mean(all.map((touch) => touch.clientX)), y: mean(all.map((touch) => touch.clientY)) };
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** @param {TouchList} touches */
function apart([one, other]) {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
}

/** @param {Place} one @param {Place} other @param {number} most */
function far(one, other, most) {
  return Math.hypot(one.x - other.x, one.y - other.y) > most;
}
