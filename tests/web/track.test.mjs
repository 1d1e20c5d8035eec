// A film that comes as an RTP track: where it is, when its pictures are seen, and what the server would answer in SDP.

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerTo, videoOf } from "../../sandbox_server/web/stream/peer.js";
import { MOST_LOST, MOST_UNSEEN, PATIENCE_MS, Track, isReached } from "../../sandbox_server/web/stream/track.js";
import { cutOut } from "../../sandbox_server/web/stream/video.js";
import { parse } from "../../sandbox_server/web/stream/wire.js";

const AREA = { x: 64, y: 32, width: 320, height: 256 };
const OFFER = [
  "v=0", "a=group:BUNDLE 0 1", "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 106 107", "a=mid:0", "a=recvonly", "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000",
  "a=fmtp:97 apt=96", "a=rtpmap:102 H264/90000", "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f", "a=rtpmap:103 rtx/90000",
  "a=fmtp:103 apt=102", "a=rtpmap:106 H264/90000", "a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
  "a=rtpmap:107 rtx/90000", "a=fmtp:107 apt=106", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:1", "",
].join("\r\n");
const ANSWER = "name password FI:NG desktop.example 8443";

function tracked() {
  /** @type {any[]} */
  const told = [];
  return { told, track: new Track((message) => told.push(message), () => told.push("failed")) };
}

test("an operation of a film that is tracked says where, and when", () => {
  const body = [3, 1, 1, 0, 0, 0, 4, 2, 2, 64, 0, 32, 0, 64, 1, 0, 1, 4, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe];
  const part = parse(Uint8Array.from(body).buffer);
  assert.deepEqual(part.operations, [{ kind: "tracked", number: 2, area: AREA, timestamp: 0xfeffffff }]);
  assert.throws(() => parse(Uint8Array.from([...body.slice(0, 17), 3, 0, 0, 0, 1, 2, 3]).buffer));
});

test("timestamps turn", () => {
  assert.ok(isReached(5, 5));
  assert.ok(isReached(3, 0xfffffff0));
  assert.ok(!isReached(0xfffffff0, 3));
});

test("what lies over the film is told, and cut out of it", () => {
  const { told, track } = tracked();
  track.over(0, [AREA]);
  track.place({ number: 0, area: AREA, timestamp: 1 });
  track.over(1, []);
  track.over(0, [AREA]);
  assert.deepEqual(told.slice(1), [{ kind: "track", do: "over", areas: [AREA] }]);
  track.stop();
  const cut = cutOut({ x: 10, y: 20, width: 100, height: 200 }, [{ x: 60, y: 120, width: 25, height: 50 }]);
  assert.equal(
    cut,
    "polygon(evenodd, 0% 0%, 100% 0%, 100% 100%, 0% 100%, 0% 0%, 0% 0%, 50% 50%, 75% 50%, 75% 75%, 50% 75%, 50% 50%, 0% 0%)",
  );
});

test("a place is told once, and each picture when it is seen", async () => {
  const { told, track } = tracked();
  const seen = [1000, 4000, 7000].map((timestamp) => track.place({ number: 0, area: { ...AREA }, timestamp }));
  track.pictured({ timestamp: 4000, age: 12 });
  assert.deepEqual(await Promise.all(seen.slice(0, 2)), [12, 12]);
  track.pictured({ timestamp: undefined, age: undefined });
  assert.equal(await seen[2], undefined);
  const moved = { ...AREA, width: 640 };
  track.pictured({ timestamp: 9000, age: 5 });
  assert.equal(await track.place({ number: 0, area: moved, timestamp: 8000 }), undefined);
  assert.deepEqual(told, [
    { kind: "track", do: "place", area: AREA, timestamp: 1000 },
    { kind: "track", do: "place", area: moved, timestamp: 8000 },
  ]);
});

test("a picture that never comes holds nothing up for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { track } = tracked();
  const seen = track.place({ number: 0, area: AREA, timestamp: 1 });
  t.mock.timers.tick(PATIENCE_MS);
  assert.equal(await seen, undefined);
});

test("a browser that shows nothing of a track is asked to take none, one that showed some later", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  for (const most of [MOST_UNSEEN, MOST_LOST]) {
    const { told, track } = tracked();
    const waits = (/** @type {number} */ count) => {
      for (let number = 0; number < count; number++) track.place({ number: 0, area: AREA, timestamp: number });
      t.mock.timers.tick(PATIENCE_MS);
    };
    if (most === MOST_LOST) track.pictured({ timestamp: undefined, age: undefined });
    waits(most - 1);
    assert.equal(told.length, 1);
    waits(1);
    assert.deepEqual(told.slice(1), ["failed"]);
  }
});

test("a film's end hides what shows it, unless another has begun", () => {
  const { told, track } = tracked();
  track.place({ number: 0, area: AREA, timestamp: 1 });
  const ended = track.end(0);
  track.place({ number: 0, area: AREA, timestamp: 2 });
  ended();
  track.end(1)();
  assert.equal(told.length, 2);
  track.end(0)();
  track.stop();
  assert.deepEqual(told.slice(2), [{ kind: "track", do: "end" }]);
  track.place({ number: 1, area: AREA, timestamp: 3 });
  track.stop();
  assert.deepEqual(told.slice(4), [{ kind: "track", do: "end" }]);
});

test("H.264 is found in an offer, and answered in the order of the offer", () => {
  const form = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f";
  assert.deepEqual(videoOf(OFFER), { picture: "106", anew: "107", form });
  const answer = answerTo(OFFER, ANSWER);
  assert.match(answer, /a=group:BUNDLE 0 1\r\nm=video 9 UDP\/TLS\/RTP\/SAVPF 106 107\r\n[^]*a=mid:0\r\n[^]*m=application[^]*a=mid:1\r\n/);
  assert.equal(answer.match(/candidate:1 1 udp 1 desktop.example 8443 typ host/g)?.length, 2);
});

test("a server that knows its address is tried there, too", () => {
  const answer = answerTo(OFFER, `${ANSWER} 10.0.0.1`);
  assert.match(answer, /\r\na=candidate:1 1 udp 1 desktop.example 8443 typ host\r\na=candidate:2 1 udp 2 10.0.0.1 8443 typ host\r\na=end-of-candidates\r\n/);
});

test("a browser without H.264 has its channels all the same", () => {
  const without = OFFER.replaceAll("H264", "AV1");
  assert.equal(videoOf(without), undefined);
  assert.match(answerTo(without, ANSWER), /a=group:BUNDLE 1\r\nm=video 0 [^]*m=application 9 /);
});
