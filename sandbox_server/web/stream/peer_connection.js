// The page's end of the WebRTC connection. Workers have no RTCPeerConnection, so the page opens it and transfers its data channels to the worker.
// Signalling is in docs/stream-protocol.md, "Datagrams".

import { answerTo, describeOffer } from "./sdp.js";
import { reportsFrames } from "./video_overlay.js";

/** The channels by their id: one keeps messages in order, the other does not wait for lost ones. */
const CHANNELS = [{ ordered: true }, { ordered: false }];

export class PeerConnection {
  /** @type {RTCPeerConnection | undefined} */
  #connection;
  /** @type {RTCDataChannel[]} those that could not be transferred to the worker */
  #channels = [];

  /**
   * @param {Worker} worker
   * @param {(track: MediaStreamTrack) => void} onTrack given the video track
   */
  constructor(worker, onTrack) {
    this.worker = worker;
    this.onTrack = onTrack;
  }

  /** Open channels, and have the worker send the offer. @param {boolean} track whether to accept video as a track */
  async open(track) {
    this.close();
    if (typeof RTCPeerConnection === "undefined") return;
    const connection = (this.#connection = new RTCPeerConnection());
    connection.onconnectionstatechange = () => {
      if (["failed", "closed"].includes(connection.connectionState) && connection === this.#connection) this.#lost();
    };
    CHANNELS.forEach((order, id) => this.#add(connection.createDataChannel("stream", { ...order, negotiated: true, id }), id));
    if (track && reportsFrames()) connection.addTransceiver("video", { direction: "recvonly" });
    connection.ontrack = ({ track: video, receiver }) => {
      if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
      this.onTrack(video);
    };
    const { sdp = "" } = await connection.createOffer();
    await connection.setLocalDescription({ type: "offer", sdp });
    const offer = describeOffer(sdp);
    if (offer.length) this.worker.postMessage({ kind: "offer", text: offer.join(" ") });
  }

  /** @param {string} text the server's answer */
  async answer(text) {
    const offered = this.#connection?.localDescription?.sdp;
    if (offered) await this.#connection?.setRemoteDescription({ type: "answer", sdp: answerTo(offered, text) });
  }

  /**
   * Send a message of the worker on a channel that could not be transferred.
   * @param {number} id
   * @param {ArrayBuffer} message
   */
  send(id, message) {
    const channel = this.#channels[id];
    if (channel?.readyState === "open") channel.send(message);
  }

  close() {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#channels = [];
    connection?.close();
  }

  #lost() {
    this.close();
    this.worker.postMessage({ kind: "lost" });
  }

  /**
   * Transfer a channel to the worker; where the browser cannot, relay its messages.
   * @param {RTCDataChannel} channel
   * @param {number} id
   */
  #add(channel, id) {
    try {
      this.worker.postMessage({ kind: "channel", id, channel }, [/** @type {Transferable} */ (/** @type {unknown} */ (channel))]);
    } catch {
      this.#relay(channel, id);
    }
  }

  /**
   * @param {RTCDataChannel} channel
   * @param {number} id
   */
  #relay(channel, id) {
    this.#channels[id] = channel;
    channel.binaryType = "arraybuffer";
    this.worker.postMessage({ kind: "channel", id });
    channel.onopen = () => this.worker.postMessage({ kind: "open", id });
    channel.onmessage = ({ data }) => this.worker.postMessage({ kind: "received", id, data }, [data]);
    channel.onclose = () => this.#channels[id] === channel && this.#lost();
  }
}
