// Frame pacing: shows the frames of a video at the even intervals at which they were made, although they arrive unevenly.
//
// A screen refreshes at fixed instants. If one frame arrives just before a refresh and the next just after one, they are shown at an interval
// that the video does not have. So a frame waits until one interval after the frame before it. A late frame delays all that follow, which
// leaves as much slack as was needed lately. Slack that is not needed is given back.
//
// The browser's timestamps of refreshes are exact, but a busy thread gets its callbacks milliseconds late. And where a frame is due between
// two refreshes, a small error would decide which of them shows it. So due times follow the refreshes at which frames are shown.

const REMEMBERED = 90;
const LEAST_REMEMBERED = 8;
/** Fewer frames than nine a second are not paced. */
const LONGEST_INTERVAL_MS = 110;
/** No frame waits longer than this. */
const MAX_WAIT_MS = 120;
/** A frame that is shown more than so many intervals after the one before is late. */
const LATE = 1.5;
const USUAL_REFRESH_MS = 1000 / 60;
/** After so many frames in a row that all waited for longer than needed, the following wait less, step by step. */
const SLACK_FRAMES = 300;
const STEP_FRAMES = 30;
/** The slack that always stays, and that pacing begins with: a lost packet is resent in about this time. */
const SLACK_MS = 2 * USUAL_REFRESH_MS;
const SMOOTHING = 1 / 16;
/** The share of a frame's delay by which the following are due later. */
const FOLLOWED = 1 / 8;
/** The assumed drift between the browser's clock and this one, in milliseconds a refresh. */
const DRIFT_MS = 0.01;
/** Intervals that differ from the mean by at most this share are even. */
const EVEN = 0.6;
/** Frames are even if this share of their intervals is. */
const MOSTLY = 0.6;

export class FramePacer {
  /** @type {number[]} */
  #arrivals = [];
  #due = 0;
  #refresh = USUAL_REFRESH_MS;
  #refreshed = 0;
  /** The offset of this clock to the browser's: the least delay of a callback. */
  #offset = Infinity;
  /** Whether the last frame was paced. */
  #paced = false;
  #least = Infinity;
  #count = 0;
  #shown = -Infinity;
  /** How many frames were late. */
  late = 0;

  /** The mean interval between frames in milliseconds; 0 where it is unknown or too long. */
  get interval() {
    const [first, last] = [this.#arrivals[0], this.#arrivals[this.#arrivals.length - 1]];
    const interval = this.#arrivals.length < LEAST_REMEMBERED ? 0 : (last - first) / (this.#arrivals.length - 1);
    return interval > LONGEST_INTERVAL_MS ? 0 : interval;
  }

  /** Whether most frames come at even intervals, as those of an animation or of a page that scrolls do. */
  get even() {
    const { interval } = this;
    const near = this.#arrivals.filter((arrival, index) => index && Math.abs(arrival - this.#arrivals[index - 1] - interval) <= EVEN * interval);
    return interval > 0 && near.length >= MOSTLY * (this.#arrivals.length - 1);
  }

  /** @param {number} now when a frame arrived, in milliseconds */
  arrived(now) {
    const last = this.#arrivals[this.#arrivals.length - 1];
    if (now - last > 5 * LONGEST_INTERVAL_MS) this.#arrivals = [];
    this.#arrivals.push(now);
    if (this.#arrivals.length > REMEMBERED) this.#arrivals.shift();
  }

  /**
   * Note that the screen refreshes.
   * @param {number} now when the callback ran
   * @param {number} timestamp of the refresh by the browser's clock, which may have another origin
   * @returns {number} the time of the refresh by the clock of `now`
   */
  refreshed(now, timestamp) {
    this.#offset = Math.min(now - timestamp, this.#offset + DRIFT_MS);
    const at = timestamp + this.#offset;
    const took = at - this.#refreshed;
    if (took > 3 && took < 1.5 * USUAL_REFRESH_MS) this.#refresh += (took - this.#refresh) * SMOOTHING;
    return (this.#refreshed = at);
  }

  /**
   * @param {number} now the refresh at which it would be shown
   * @param {number} arrived when the frame did that is to be shown
   */
  isDue(now, arrived) {
    return now >= this.#due - this.#refresh / 2 || now - arrived >= MAX_WAIT_MS;
  }

  /**
   * @param {number} now
   * @param {number} arrived when the frame did that is shown now
   */
  shown(now, arrived) {
    const [interval, took, late] = [this.interval, now - this.#shown, now - this.#due];
    if (took > LATE * interval && took < 5 * LONGEST_INTERVAL_MS && interval) this.late++;
    this.#shown = now;
    const begins = interval > 0 && !this.#paced;
    this.#paced = interval > 0;
    this.#due = (begins || Math.abs(late) > this.#refresh / 2 + 1 ? now : this.#due + late * FOLLOWED) + interval + (begins ? SLACK_MS : 0);
    this.#least = Math.min(this.#least, now - arrived);
    if (++this.#count < SLACK_FRAMES) return;
    if (this.#least > this.#refresh + SLACK_MS) {
      this.#due -= this.#refresh;
      this.#least -= this.#refresh;
      this.#count -= STEP_FRAMES;
    } else {
      this.#least = Infinity;
      this.#count = 0;
    }
  }
}
