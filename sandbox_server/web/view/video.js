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

  /** The picture below is drawn; it is seen with the next refresh. */
  end() {
    const area = this.#area;
    this.#next = undefined;
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
    });
  }
}
