// When to show the pictures of a film: in the rhythm in which they were made, although they arrive unevenly.
//
// A screen shows pictures at fixed instants. One that arrives just before such an instant, and the next just after it, are seen with a gap
// that the film does not have, however small the difference. So a picture waits until the gap before it is over; one that was late shifts
// all that follow, and so there is as much room for lateness as was needed of late. What is not needed is given back.
//
// Which instants these are the browser says more exactly than it keeps to them: a busy thread hears of a refresh milliseconds late, now this
// one, now not the next. And where a picture is due between two instants, a trifle would decide which of them is taken, and a film would be
// seen with gaps of one and of three instants. So what is due follows the instants at which pictures are shown.

const REMEMBERED = 90;
const LEAST_REMEMBERED = 8;
/** A film with fewer pictures than ten a second has no rhythm. */
const LONGEST_GAP_MS = 110;
/** A picture waits no longer than this, whatever the rhythm. */
const MOST_HELD_MS = 120;
/** What is seen later than so many gaps after the one before is late. */
const LATE = 1.5;
const USUAL_REFRESH_MS = 1000 / 60;
/** Pictures in a row that all waited for longer than needed: then those that follow wait for less, step by step. */
const SPARE_PICTURES = 300;
const STEP_PICTURES = 30;
/** They wait for as long as this even so, and where a rhythm begins: a packet that was lost is sent anew in about this time. */
const SPARE_MS = 2 * USUAL_REFRESH_MS;
const SMOOTHING = 1 / 16;
/** Of how much later than due a picture was shown, those that follow are due later. */
const FOLLOWED = 1 / 8;
/** By so much a refresh are the browser's clock and this one thought to drift apart, in milliseconds. */
const DRIFT_MS = 0.01;
/** Gaps that are no more than this share of the mean longer or shorter are of a rhythm, and so many of all have to be. */
const EVEN = 0.6;
const MOSTLY = 0.6;

export class Rhythm {
  /** @type {number[]} */
  #arrivals = [];
  #due = 0;
  #refresh = USUAL_REFRESH_MS;
  #refreshed = 0;
  /** From when the browser says that a refresh was to the earliest that one was heard of. */
  #behind = Infinity;
  /** Whether there was a rhythm when a picture was shown last. */
  #began = false;
  #least = Infinity;
  #count = 0;
  #shown = -Infinity;
  /** How many were late. */
  late = 0;

  /** Milliseconds from one picture to the next; 0 where that is not known, or there is no rhythm. */
  get gap() {
    const [first, last] = [this.#arrivals[0], this.#arrivals[this.#arrivals.length - 1]];
    const gap = this.#arrivals.length < LEAST_REMEMBERED ? 0 : (last - first) / (this.#arrivals.length - 1);
    return gap > LONGEST_GAP_MS ? 0 : gap;
  }

  /** Whether most pictures come evenly, as those of a page that scrolls or of an animation do. */
  get even() {
    const { gap } = this;
    const near = this.#arrivals.filter((arrival, index) => index && Math.abs(arrival - this.#arrivals[index - 1] - gap) <= EVEN * gap);
    return gap > 0 && near.length >= MOSTLY * (this.#arrivals.length - 1);
  }

  /** @param {number} now milliseconds: a picture has arrived */
  arrived(now) {
    const last = this.#arrivals[this.#arrivals.length - 1];
    if (now - last > 5 * LONGEST_GAP_MS) this.#arrivals = [];
    this.#arrivals.push(now);
    if (this.#arrivals.length > REMEMBERED) this.#arrivals.shift();
  }

  /**
   * Note that the screen is refreshed.
   * @param {number} now when that is heard of
   * @param {number} told when the browser says that it is, by a clock that may have begun at another time
   * @returns {number} when it is, by the clock of `now`
   */
  refreshed(now, told) {
    this.#behind = Math.min(now - told, this.#behind + DRIFT_MS);
    const at = told + this.#behind;
    const took = at - this.#refreshed;
    if (took > 3 && took < 1.5 * USUAL_REFRESH_MS) this.#refresh += (took - this.#refresh) * SMOOTHING;
    return (this.#refreshed = at);
  }

  /**
   * @param {number} now the refresh at which it would be shown
   * @param {number} arrived when the picture that is to be shown did
   */
  isDue(now, arrived) {
    return now >= this.#due - this.#refresh / 2 || now - arrived >= MOST_HELD_MS;
  }

  /**
   * @param {number} now
   * @param {number} arrived when the picture that is shown now did
   */
  shown(now, arrived) {
    const [gap, took, late] = [this.gap, now - this.#shown, now - this.#due];
    if (took > LATE * gap && took < 5 * LONGEST_GAP_MS && gap) this.late++;
    this.#shown = now;
    const begins = gap > 0 && !this.#began;
    this.#began = gap > 0;
    this.#due = (begins || Math.abs(late) > this.#refresh / 2 + 1 ? now : this.#due + late * FOLLOWED) + gap + (begins ? SPARE_MS : 0);
    this.#least = Math.min(this.#least, now - arrived);
    if (++this.#count < SPARE_PICTURES) return;
    if (this.#least > this.#refresh + SPARE_MS) {
      this.#due -= this.#refresh;
      this.#least -= this.#refresh;
      this.#count -= STEP_PICTURES;
    } else {
      this.#least = Infinity;
      this.#count = 0;
    }
  }
}
