// The video element that shows an RTP track, laid over the canvas where its video region is.

import { isReached } from "./video_track.js";

/** @typedef {import("./wire.js").Area} Area */

/** Whether this browser can report which frame it shows. */
export const reportsFrames = () => typeof RTCPeerConnection !== "undefined" && "requestVideoFrameCallback" in HTMLVideoElement.prototype;

export class VideoOverlay {
  /** @type {{area: Area, timestamp: number} | undefined} where it goes from a frame on */
  #next;
  /** @type {number | undefined} */
  #shown;
  #area = { x: 0, y: 0, width: 0, height: 0 };
  #size = { width: 1, height: 1 };
  /** @type {Area[]} */
  #overlays = [];
  /** How many frames were shown. */
  count = 0;

  /** @param {(message: {kind: "presented", timestamp: number | undefined, age: number | undefined}) => void} post tells the worker which frame is shown */
  constructor(post) {
    this.post = post;
    this.element = document.createElement("video");
    Object.assign(this.element, { muted: true, autoplay: true, playsInline: true, disablePictureInPicture: true });
    this.#hide();
  }

  /** @param {MediaStreamTrack} track */
  attach(track) {
    this.#shown = undefined;
    this.element.srcObject = new MediaStream([track]);
    this.element.requestVideoFrameCallback(this.#presented);
    this.element.play().catch(() => undefined); // it plays as soon as the browser allows it
  }

  /** @param {{area: Area, timestamp: number}} place where it goes, from the frame with this timestamp on */
  place(place) {
    this.#next = place;
    if (this.#shown !== undefined && isReached(this.#shown, place.timestamp)) this.#move();
  }

  /** @param {Area[]} areas where the canvas below shows through */
  overlay(areas) {
    this.#overlays = areas;
    this.#layOut();
  }

  /** Hide it: the canvas below is drawn, and shown with the next refresh. */
  end() {
    const area = this.#area;
    this.#next = undefined;
    this.#overlays = [];
    requestAnimationFrame(() => requestAnimationFrame(() => area === this.#area && this.#hide()));
  }

  /** @param {{width: number, height: number}} size of the desktop's screen */
  resize(size) {
    this.#size = size;
    this.#layOut();
  }

  /** @type {VideoFrameRequestCallback} */
  #presented = (now, { rtpTimestamp, receiveTime }) => {
    this.element.requestVideoFrameCallback(this.#presented);
    this.#shown = rtpTimestamp;
    this.count++;
    if (this.#next && (rtpTimestamp === undefined || isReached(rtpTimestamp, this.#next.timestamp))) this.#move();
    this.post({ kind: "presented", timestamp: rtpTimestamp, age: receiveTime && Math.max(0, now - receiveTime) });
  };

  #move() {
    if (!this.#next) return;
    this.#area = this.#next.area;
    this.#next = undefined;
    this.#layOut();
    this.element.style.opacity = "1";
  }

  #hide() {
    this.element.style.opacity = "0";
  }

  #layOut() {
    const { x, y, width, height } = this.#area;
    const share = (/** @type {number} */ part, /** @type {number} */ whole) => `${(part / whole) * 100}%`;
    Object.assign(this.element.style, {
      left: share(x, this.#size.width),
      top: share(y, this.#size.height),
      width: share(width, this.#size.width),
      height: share(height, this.#size.height),
      clipPath: this.#overlays.length ? cutOut(this.#area, this.#overlays) : "",
    });
  }
}

/**
 * @param {Area} area
 * @param {Area[]} holes
 * @returns {string} the area without the holes, as a CSS polygon: from the area's corner around each hole and back
 */
export function cutOut(area, holes) {
  const point = (/** @type {number} */ x, /** @type {number} */ y) => `${((x - area.x) / area.width) * 100}% ${((y - area.y) / area.height) * 100}%`;
  const outline = (/** @type {Area} */ { x, y, width, height }) => {
    const [right, bottom] = [x + width, y + height];
    return [point(x, y), point(right, y), point(right, bottom), point(x, bottom), point(x, y), point(area.x, area.y)];
  };
  return `polygon(evenodd, ${[area, ...holes].flatMap(outline).join(", ")})`;
}
