// Session descriptions: the offer that is told, and the answer that is made of the server's words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { answerTo, describeOffer, videoFormat } from "/static/stream/sdp.js";

const OFFER = [
  "v=0", "a=group:BUNDLE 0 1", "m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 106 107", "a=mid:0", "a=recvonly", "a=rtpmap:96 VP8/90000", "a=rtpmap:97 rtx/90000",
  "a=fmtp:97 apt=96", "a=rtpmap:102 H264/90000", "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f", "a=rtpmap:103 rtx/90000",
  "a=fmtp:103 apt=102", "a=rtpmap:106 H264/90000", "a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
  "a=rtpmap:107 rtx/90000", "a=fmtp:107 apt=106", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:1", "",
].join("\r\n");
const ANSWER = "name password FI:NG desktop.example 8443";

test("H.264 is found in an offer, and answered in the order of the offer", () => {
  const parameters = "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f";
  assert.deepEqual(videoFormat(OFFER), { h264: "106", rtx: "107", parameters });
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
  assert.equal(videoFormat(without), undefined);
  assert.match(answerTo(without, ANSWER), /a=group:BUNDLE 1\r\nm=video 0 [^]*m=application 9 /);
});

test("an offer is told in five words, without video in three, and not at all where one is missing", () => {
  const credentials = "a=ice-ufrag:user\r\na=ice-pwd:secret\r\na=fingerprint:sha-256 AB:CD\r\n";
  assert.deepEqual(describeOffer(credentials + OFFER), ["user", "secret", "AB:CD", "106", "107"]);
  assert.deepEqual(describeOffer(credentials), ["user", "secret", "AB:CD"]);
  assert.deepEqual(describeOffer(OFFER), []);
});

test("the answer names the sources of the video and of its retransmissions", () => {
  const answer = answerTo(OFFER, ANSWER);
  assert.match(answer, /\r\na=ssrc-group:FID 1001 1002\r\n/);
  assert.match(answer, /\r\na=ice-ufrag:name\r\na=ice-pwd:password\r\na=fingerprint:sha-256 FI:NG\r\na=setup:passive\r\n/);
});

test("another profile of H.264 than the constrained baseline is not taken", () => {
  assert.equal(videoFormat(OFFER.replaceAll("profile-level-id=42e01f", "profile-level-id=640c1f")), undefined);
  assert.equal(videoFormat(OFFER.replaceAll("profile-level-id=42e01f", "profile-level-id=42c01f"))?.h264, "106");
  assert.equal(videoFormat(OFFER.replace("a=fmtp:107 apt=106", "a=fmtp:107 apt=1")), undefined, "what is lost could not be sent anew");
});
