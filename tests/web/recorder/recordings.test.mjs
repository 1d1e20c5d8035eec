// The recordings: the one that shows a moment is played there, the next one after it, and idle time is skipped.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering } from "../browser/network.mjs";

openDocument();
const { Recordings } = await import("/static/recorder/recordings.js");

/** @type {any} */
let video;
/** @type {any} */
let recordings;
/** @type {any[]} */
let told = [];
/** @type {boolean[]} */
let states = [];

beforeEach(async () => {
  [told, states] = [[], []];
  video = Object.assign(document.createElement("video"), {
    paused: true, seeking: false, ended: false, currentTime: 0, src: "", readyState: 4, playbackRate: 1,
    play() {
      video.paused = false;
    },
    pause() {
      const played = !video.paused;
      video.paused = true;
      if (played) video.dispatchEvent(new Event("pause"));
    },
  });
  const films = [
    { name: "a.mp4", start: 100, end: 160, over: true, pinned: false },
    { name: "b.mp4", start: 200, end: 230, over: false, pinned: false },
  ];
  answering(() => ({ films }));
  recordings = new Recordings(video, { time: (at) => told.push(at), seek: (recorded) => told.push(recorded), state: (playing) => states.push(playing) });
  await recordings.load();
});

const loaded = () => video.dispatchEvent(new Event("loadedmetadata"));
/** Another source stops what plays, without an event. */
const shown = (/** @type {number} */ at) => {
  video.paused = true;
  recordings.seek(at);
  loaded();
};
const plays = (/** @type {number} */ at) => {
  video.currentTime = at;
  video.dispatchEvent(new Event("timeupdate"));
};

test("a moment is shown by the recording that has it", () => {
  recordings.seek(130);
  assert.deepEqual([video.src, video.hidden, told], ["/v1/recorder/video/a.mp4", false, [true]]);
  loaded();
  assert.equal(video.currentTime, 30);
});

test("another moment of the same recording is sought within it", () => {
  shown(130);
  video.src = "unchanged";
  recordings.seek(101);
  assert.deepEqual([video.src, video.currentTime], ["unchanged", 1]);
});

test("a recording that goes on is loaded again, since it has grown", () => {
  recordings.seek(205.4);
  assert.equal(video.src, "/v1/recorder/video/b.mp4?at=205");
  recordings.seek(229);
  assert.equal(video.src, "/v1/recorder/video/b.mp4?at=229");
});

test("a moment that nothing recorded shows nothing", () => {
  shown(130);
  recordings.seek(180);
  assert.deepEqual([video.hidden, video.paused, told.at(-1)], [true, true, false]);
});

test("a moment that is sought while it stands, stands", () => {
  shown(130);
  shown(210);
  assert.deepEqual([video.paused, recordings.playing, states], [true, false, []]);
});

test("a moment that is sought while it plays, plays on, and so the button says", () => {
  shown(130);
  recordings.play();
  shown(210);
  assert.deepEqual([video.paused, recordings.playing, states], [false, true, [true]]);
  recordings.pause();
  assert.deepEqual([video.paused, states], [true, [true, false]]);
});

test("what the browser pauses is paused", () => {
  shown(130);
  recordings.play();
  video.pause();
  assert.deepEqual([recordings.playing, states], [false, [true, false]]);
});

test("play where nothing was recorded goes on with the next recording, and after the last there is none", () => {
  recordings.seek(180);
  recordings.play();
  assert.equal(video.src, "/v1/recorder/video/b.mp4?at=200");
  loaded();
  assert.deepEqual([video.paused, recordings.playing], [false, true]);
  recordings.seek(300);
  assert.deepEqual([video.hidden, recordings.playing, states], [true, false, [true, false]]);
});

test("while it plays, the moment goes along; while it is sought or paused it does not", () => {
  shown(130);
  told = [];
  plays(31);
  recordings.play();
  plays(31);
  video.seeking = true;
  plays(32);
  assert.deepEqual(told, [131]);
});

test("at the end of one the next is played, and after the last none", () => {
  shown(150);
  recordings.play();
  video.dispatchEvent(new Event("ended"));
  loaded();
  assert.deepEqual([video.src, video.paused], ["/v1/recorder/video/b.mp4?at=200", false]);
  video.dispatchEvent(new Event("ended"));
  assert.deepEqual([video.paused, recordings.playing], [true, false]);
});

test("time in which nobody acts is skipped, also into the next recording", () => {
  recordings.setActs([[100, 110], [130, 131], [205, 206]]);
  shown(100);
  recordings.play();
  plays(12);
  assert.equal(video.currentTime, 12, "a moment after an act is shown");
  plays(15);
  assert.equal(video.currentTime, 29, "a second before the next act");
  plays(36);
  loaded();
  assert.deepEqual([video.src, video.currentTime], ["/v1/recorder/video/b.mp4?at=204", 4]);
  plays(25);
  assert.equal(video.currentTime, 25, "after the last act it plays on");
});

test("nothing is skipped where that is not wanted, and in what nothing is known of", () => {
  shown(100);
  recordings.play();
  plays(20);
  recordings.setActs([[100, 101], [150, 151]]);
  recordings.skip = false;
  plays(21);
  assert.equal(video.currentTime, 21);
});

test("the speed stays with every recording", () => {
  recordings.speed = 4;
  shown(130);
  video.playbackRate = 1;
  recordings.play();
  assert.deepEqual([video.playbackRate, video.defaultPlaybackRate], [4, 4]);
});
