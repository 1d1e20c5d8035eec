// The page's peer connection: channels go to the worker, or their messages do.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals } from "../browser/dom.mjs";

const SDP = "a=ice-ufrag:user\r\na=ice-pwd:secret\r\na=fingerprint:sha-256 AB:CD\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:0\r\n";

/** A browser's connection. */
class Connection {
  /** @type {any} */
  static last;
  connectionState = "new";
  channels = [];
  transceivers = [];
  constructor() {
    Connection.last = this;
  }
  createDataChannel(label, options) {
    const channel = { label, options, readyState: "open", sent: [], send: (message) => channel.sent.push(message) };
    this.channels.push(channel);
    return channel;
  }
  addTransceiver(...given) {
    this.transceivers.push(given);
  }
  async createOffer() {
    return { sdp: SDP };
  }
  async setLocalDescription(description) {
    this.localDescription = description;
  }
  async setRemoteDescription(description) {
    this.remoteDescription = description;
  }
  close() {
    this.closed = true;
  }
}

globals({ RTCPeerConnection: Connection, HTMLVideoElement: class { requestVideoFrameCallback() {} } });
const { PeerConnection } = await import("/static/stream/peer_connection.js");

/** @type {any[]} */
let posted = [];
/** @type {any[]} */
let tracks = [];
/** @type {any} */
let peer;
let transfers = true;

beforeEach(() => {
  [posted, tracks, transfers] = [[], [], true];
  const postMessage = (message, moved = []) => {
    if (!transfers && message.channel) throw new TypeError("a data channel is not transferable here");
    posted.push([message.kind, message.id, moved.length]);
  };
  peer = new PeerConnection(/** @type {any} */ ({ postMessage }), (track) => tracks.push(track));
});

test("two channels of known numbers go to the worker, then the offer", async () => {
  await peer.open(false);
  assert.deepEqual(Connection.last.channels.map(({ options }) => options), [{ ordered: true, negotiated: true, id: 0 }, { ordered: false, negotiated: true, id: 1 }]);
  assert.deepEqual(posted, [["channel", 0, 1], ["channel", 1, 1], ["offer", undefined, 0]]);
  assert.equal(Connection.last.transceivers.length, 0);
});

test("video is taken as a track where that is asked for, and played without a buffer", async () => {
  await peer.open(true);
  assert.deepEqual(Connection.last.transceivers, [["video", { direction: "recvonly" }]]);
  const receiver = { jitterBufferTarget: 100 };
  Connection.last.ontrack({ track: "video", receiver });
  assert.deepEqual([tracks, receiver.jitterBufferTarget], [["video"], 0]);
});

test("the server's answer is set as SDP, and one that comes too late is not", async () => {
  await peer.answer("name password FI:NG host 1");
  await peer.open(false);
  await peer.answer("name password FI:NG box.test 8443");
  assert.match(Connection.last.remoteDescription.sdp, /a=candidate:1 1 udp 1 box.test 8443 typ host/);
});

test("where channels cannot be transferred, their messages are relayed", async () => {
  transfers = false;
  await peer.open(false);
  const [ordered] = Connection.last.channels;
  ordered.onopen();
  ordered.onmessage({ data: new ArrayBuffer(1) });
  assert.deepEqual(posted, [["channel", 0, 0], ["channel", 1, 0], ["offer", undefined, 0], ["open", 0, 0], ["received", 0, 1]]);
  const message = new ArrayBuffer(3);
  peer.send(0, message);
  assert.deepEqual(ordered.sent, [message]);
  ordered.onclose();
  assert.deepEqual([posted.at(-1)[0], Connection.last.closed], ["lost", true]);
});

test("a connection that fails is told once, and one that was closed on purpose is not", async () => {
  await peer.open(false);
  const connection = Connection.last;
  connection.connectionState = "failed";
  connection.onconnectionstatechange();
  connection.onconnectionstatechange();
  assert.equal(posted.filter(([kind]) => kind === "lost").length, 1);
  await peer.open(false);
  peer.close();
  Object.assign(Connection.last, { connectionState: "closed" }).onconnectionstatechange();
  assert.equal(posted.filter(([kind]) => kind === "lost").length, 1);
});

test("a browser without WebRTC stays with the WebSocket", async () => {
  globals({ RTCPeerConnection: undefined });
  await peer.open(true);
  assert.deepEqual(posted, []);
});
