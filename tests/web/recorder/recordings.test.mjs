// The recordings: the one that shows a moment is played there, and the next one after it.

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

beforeEach(async () => {
  told = [];
  video = Object.assign(document.createElement("video"), {
    paused: true, seeking: false, currentTime: 0, src: "",
    play() {
      video.paused = false;
    },
    pause() {
      video.paused = true;
    },
  });
  const films = [
    { name: "a.mp4", start: 100, end: 160, over: true, pinned: false },
    { name: "b.mp4", start: 200, end: 230, over: false, pinned: false },
  ];
  answering(() => ({ films }));
  recordings = new Recordings(video, (at) => told.push(at), (recorded) => told.push(recorded));
  await recordings.load();
});

const loaded = () => video.dispatchEvent(new Event("loadedmetadata"));

test("a moment is shown by the recording that has it", () => {
  recordings.seek(130);
  assert.deepEqual([video.src, video.hidden, told], ["/v1/recorder/video/a.mp4", false, [true]]);
  loaded();
  assert.equal(video.currentTime, 30);
});

test("another moment of the same recording is sought within it", () => {
  recordings.seek(130);
  loaded();
  video.src = "unchanged";
  recordings.seek(101);
  assert.deepEqual([video.src, video.currentTime], ["unchanged", 1]);
});

test("a recording that goes on is loaded again, since it has grown", () => {
  recordings.seek(205.4);
  assert.equal(video.src, "/v1/recorder/video/b.mp4?at=205");
  recordings.seek(229);
  assert.equal(video.src, "/v1/recorder/video/b.mp4?at=229");
  recordings.seek(200 - 0);
  loaded();
  assert.equal(video.currentTime, 0);
});

test("a moment that nothing recorded shows nothing, and stops what plays", () => {
  recordings.seek(130);
  video.play();
  recordings.seek(180);
  assert.deepEqual([video.hidden, video.paused, told.at(-1)], [true, true, false]);
});

test("while it plays, the moment goes along; while it is sought or paused it does not", () => {
  recordings.seek(130);
  told = [];
  video.currentTime = 31;
  video.dispatchEvent(new Event("timeupdate"));
  video.play();
  video.dispatchEvent(new Event("timeupdate"));
  video.seeking = true;
  video.dispatchEvent(new Event("timeupdate"));
  assert.deepEqual(told, [131]);
});

test("at the end of one the next is played, and after the last none", () => {
  recordings.seek(160);
  video.dispatchEvent(new Event("ended"));
  assert.deepEqual([video.src, video.paused], ["/v1/recorder/video/b.mp4?at=200", false]);
  video.pause();
  video.dispatchEvent(new Event("ended"));
  assert.equal(video.paused, true);
});
