// The element that shows a film that comes as an RTP track, laid over the picture where the film is.

import { isReached } from "./track.js";

/** @typedef {import("./wire.js").Area} Area */

/** Whether this browser can tell which picture it shows. */
export const shows = () => typeof RTCPeerConnection !== "undefined" && "requestVideoFrameCallback" in HTMLVideoElement.prototype;

export class Video {
  /** @type {{area: Area, timestamp: number} | undefined} where it is to be from a picture on */
  #next;
  /** @type {number | undefined} */
  #seen;
  #area = { x: 0, y: 0, width: 0, height: 0 };
  #size = { width: 1, height: 1 };
  /** @type {Area[]} */
  #over = [];
  /** How many pictures were seen. */
  count = 0;

  /** @param {(message: {kind: "pictured", timestamp: number | undefined, age: number | undefined}) => void} tell the worker what is seen */
  constructor(tell) {
    this.tell = tell;
    this.element = document.createElement("video");
    Object.assign(this.element, { muted: true, autoplay: true, playsInline: true, disablePictureInPicture: true });
    this.#hide();
  }

  /** @param {MediaStreamTrack} track */
  attach(track) {
    this.#seen = undefined;
    this.element.srcObject = new MediaStream([track]);
    this.element.requestVideoFrameCallback(this.#pictured);
    this.element.play().catch(() => undefined); // it does as soon as it may
  }

  /** @param {{area: Area, timestamp: number}} place from the picture with this timestamp on */
  place(place) {
    this.#next = place;
    if (this.#seen !== undefined && isReached(this.#seen, place.timestamp)) this.#move();
  }

  /** @param {Area[]} areas of the screen in which the picture below is seen */
  over(areas) {
    this.#over = areas;
    this.#lay();
  }

  /** The picture below is drawn; it is seen with the next refresh. */
  end() {
    const area = this.#area;
    this.#next = undefined;
    this.#over = [];
    requestAnimationFrame(() => requestAnimationFrame(() => area === this.#area && this.#hide()));
  }

  /** @param {{width: number, height: number}} size of the desktop's screen */
  resize(size) {
    this.#size = size;
    this.#lay();
  }

  /** @type {VideoFrameRequestCallback} */
  #pictured = (now, { rtpTimestamp, receiveTime }) => {
    this.element.requestVideoFrameCallback(this.#pictured);
    this.#seen = rtpTimestamp;
    this.count++;
    if (this.#next && (rtpTimestamp === undefined || isReached(rtpTimestamp, this.#next.timestamp))) this.#move();
    this.tell({ kind: "pictured", timestamp: rtpTimestamp, age: receiveTime && Math.max(0, now - receiveTime) });
  };

  #move() {
    if (!this.#next) return;
    this.#area = this.#next.area;
    this.#next = undefined;
    this.#lay();
    this.element.style.opacity = "1";
  }

  #hide() {
    this.element.style.opacity = "0";
  }

  #lay() {
    const { x, y, width, height } = this.#area;
    const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${(part / whole) * 100}%`;
    Object.assign(this.element.style, {
      left: share(x, this.#size.width),
      top: share(y, this.#size.height),
      width: share(width, this.#size.width),
      height: share(height, this.#size.height),
      clipPath: this.#over.length ? cutOut(this.#area, this.#over) : "",
    });
  }
}

/**
 * @param {Area} area
 * @param {Area[]} over
 * @returns {string} the area without the others, as a path of CSS: along each from the area's corner and back
 */
export function cutOut(area, over) {
  const point = (/** @type {number} */ x, /** @type {number} */ y) => `${((x - area.x) / area.width) * 100}% ${((y - area.y) / area.height) * 100}%`;
  const around = (/** @type {Area} */ { x, y, width, height }) => {
    const [right, bottom] = [x + width, y + height];
    return [point(x, y), point(right, y), point(right, bottom), point(x, bottom), point(x, y), point(area.x, area.y)];
  };
  return `polygon(evenodd, ${[area, ...over].flatMap(around).join(", ")})`;
}
