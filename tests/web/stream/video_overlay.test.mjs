// The video element: laid over its region from the frame on that belongs there, and hidden after it.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { El, globals, openDocument } from "../browser/dom.mjs";

openDocument();
globals({ MediaStream: class {}, HTMLVideoElement: class { requestVideoFrameCallback() {} }, RTCPeerConnection: class {} });
Object.assign(El.prototype, {
  requestVideoFrameCallback(act) {
    this.nextFrame = act;
  },
  play: async () => undefined,
});
const { VideoOverlay, cutOut, reportsFrames } = await import("/static/stream/video_overlay.js");

const AREA = { x: 64, y: 32, width: 320, height: 256 };
/** @type {any} */
let video;
/** @type {any[]} */
let posted = [];

beforeEach(() => {
  posted = [];
  video = new VideoOverlay((message) => posted.push(message));
  video.resize({ width: 640, height: 512 });
  video.attach({});
});

/** @param {number | undefined} rtpTimestamp @param {number} [receiveTime] */
const show = (rtpTimestamp, receiveTime) => video.element.nextFrame(100, { rtpTimestamp, receiveTime });
const place = () => ["opacity", "left", "top", "width", "height"].map((name) => video.element.style[name]);

test("a hole is cut out of an area as a polygon", () => {
  assert.equal(
    cutOut({ x: 10, y: 20, width: 100, height: 200 }, [{ x: 60, y: 120, width: 25, height: 50 }]),
    "polygon(evenodd, 0% 0%, 100% 0%, 100% 100%, 0% 100%, 0% 0%, 0% 0%, 50% 50%, 75% 50%, 75% 75%, 50% 75%, 50% 50%, 0% 0%)",
  );
});

test("it is not seen before the frame that belongs there", () => {
  assert.equal(video.element.style.opacity, "0");
  video.place({ area: AREA, timestamp: 3000 });
  show(2000);
  assert.equal(video.element.style.opacity, "0");
  show(3000);
  assert.deepEqual(place(), ["1", "10%", "6.25%", "50%", "50%"]);
  assert.equal(video.count, 2);
});

test("a place whose frame is shown already is taken at once", () => {
  show(3000);
  video.place({ area: AREA, timestamp: 3000 });
  assert.equal(video.element.style.opacity, "1");
});

test("each frame that is shown is told, with its age where the browser knows it", () => {
  show(3000, 88);
  show(4000);
  show(undefined, 150);
  assert.deepEqual(posted, [
    { kind: "presented", timestamp: 3000, age: 12 },
    { kind: "presented", timestamp: 4000, age: undefined },
    { kind: "presented", timestamp: undefined, age: 0 },
  ]);
});

test("what lies over the video is cut out, until nothing does", () => {
  video.place({ area: AREA, timestamp: 1 });
  show(1);
  video.overlay([{ ...AREA, width: 160 }]);
  assert.match(video.element.style.clipPath, /^polygon/);
  video.overlay([]);
  assert.equal(video.element.style.clipPath, "");
});

test("it is hidden two refreshes after its end, unless another video has its place by then", () => {
  /** @type {(() => void)[]} */
  const refreshes = [];
  globals({ requestAnimationFrame: (act) => refreshes.push(act) });
  const end = () => {
    video.end();
    refreshes.splice(0).forEach((act) => act());
    assert.equal(video.element.style.opacity, "1");
  };
  video.place({ area: AREA, timestamp: 1 });
  show(1);
  end();
  video.place({ area: { ...AREA, x: 0 }, timestamp: 2 });
  show(2);
  refreshes.splice(0).forEach((act) => act());
  assert.equal(video.element.style.opacity, "1");
  end();
  refreshes.splice(0).forEach((act) => act());
  assert.equal(video.element.style.opacity, "0");
});

test("only a browser that tells which frame it shows can take a track", () => {
  assert.equal(reportsFrames(), true);
  globals({ HTMLVideoElement: class {} });
  assert.equal(reportsFrames(), false);
});
