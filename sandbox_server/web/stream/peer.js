// The page's part in a channel of datagrams: it is made here, since workers have no RTCPeerConnection; what it carries is the worker's.
// What is told to whom is in docs/stream-protocol.md, "Datagrams".

import { shows } from "./video.js";

/** By their number: messages of the first keep their order, those of the second do not wait for each other. */
const LANES = [{ ordered: true }, { ordered: false }];
const MAX_MESSAGE = 256 * 1024;
/** Of what the server sends, and of what it sends anew. */
const [SSRC, ANEW_SSRC] = [1001, 1002];
const ANYWHERE = "c=IN IP4 0.0.0.0";

/** @typedef {{picture: string, anew: string, form: string}} Video payload types of H.264 and of what is sent anew, and how the former is */

export class Peer {
  /** @type {RTCPeerConnection | undefined} */
  #connection;
  /** @type {RTCDataChannel[]} those that could not be given to the worker */
  #channels = [];

  /**
   * @param {Worker} worker
   * @param {(track: MediaStreamTrack) => void} filmed given the track that carries films
   */
  constructor(worker, filmed) {
    this.worker = worker;
    this.filmed = filmed;
  }

  /** @param {boolean} track whether to take films as a track. Offer a channel, and tell the worker what to say. */
  async open(track) {
    this.close();
    if (typeof RTCPeerConnection === "undefined") return;
    const connection = (this.#connection = new RTCPeerConnection());
    connection.onconnectionstatechange = () => {
      if (["failed", "closed"].includes(connection.connectionState) && connection === this.#connection) this.#lost();
    };
    LANES.forEach((order, id) => this.#add(connection.createDataChannel("stream", { ...order, negotiated: true, id }), id));
    if (track && shows()) connection.addTransceiver("video", { direction: "recvonly" });
    connection.ontrack = ({ track: film, receiver }) => {
      if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
      this.filmed(film);
    };
    const { sdp = "" } = await connection.createOffer();
    await connection.setLocalDescription({ type: "offer", sdp });
    const said = ["ice-ufrag:(\\S+)", "ice-pwd:(\\S+)", "fingerprint:sha-256 (\\S+)"].map((line) => sdp.match(`a=${line}`)?.[1]);
    const video = videoOf(sdp);
    if (said.every(Boolean)) this.worker.postMessage({ kind: "offer", text: [...said, ...(video ? [video.picture, video.anew] : [])].join(" ") });
  }

  /** @param {string} text the server's answer */
  async answer(text) {
    const offered = this.#connection?.localDescription?.sdp;
    if (offered) await this.#connection?.setRemoteDescription({ type: "answer", sdp: answerTo(offered, text) });
  }

  /**
   * Send what the worker cannot send itself.
   * @param {number} lane
   * @param {ArrayBuffer} message
   */
  send(lane, message) {
    const channel = this.#channels[lane];
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
   * Give a channel to the worker; where the browser cannot, carry what it carries.
   * @param {RTCDataChannel} channel
   * @param {number} lane
   */
  #add(channel, lane) {
    try {
      this.worker.postMessage({ kind: "lane", lane, channel }, [/** @type {Transferable} */ (/** @type {unknown} */ (channel))]);
    } catch {
      this.#carry(channel, lane);
    }
  }

  /**
   * @param {RTCDataChannel} channel
   * @param {number} lane
   */
  #carry(channel, lane) {
    this.#channels[lane] = channel;
    channel.binaryType = "arraybuffer";
    this.worker.postMessage({ kind: "lane", lane });
    channel.onopen = () => this.worker.postMessage({ kind: "open", lane });
    channel.onmessage = ({ data }) => this.worker.postMessage({ kind: "came", lane, data }, [data]);
    channel.onclose = () => this.#channels[lane] === channel && this.#lost();
  }
}

/**
 * @param {string} sdp an offer
 * @returns {Video | undefined} the constrained baseline of H.264 in it, if it can be sent anew, too
 */
export function videoOf(sdp) {
  for (const [, picture] of sdp.matchAll(/a=rtpmap:(\d+) H264\/90000/g)) {
    const form = sdp.match(`a=fmtp:${picture} (\\S*packetization-mode=1\\S*)`)?.[1];
    const anew = sdp.match(`a=fmtp:(\\d+) apt=${picture}\\r`)?.[1];
    if (form && anew && /profile-level-id=42[ce]0/.test(form)) return { picture, anew, form };
  }
  return undefined;
}

/**
 * @param {string} offered what this side has offered
 * @param {string} text what the server says of itself
 * @returns {string} what the server would have answered in SDP: each of the offer's media, in their order
 */
export function answerTo(offered, text) {
  const [name, password, fingerprint, host, port, address] = text.split(" ");
  const places = address ? [host, address] : [host]; // Firefox takes no name
  const media = offered.split(/^m=/m).slice(1);
  const taken = media.filter((one) => !one.startsWith("video") || videoOf(one)).map(midOf);
  const common = [
    `a=ice-ufrag:${name}\r\na=ice-pwd:${password}\r\na=fingerprint:sha-256 ${fingerprint}\r\na=setup:passive`,
    ...places.map((place, index) => `a=candidate:${index + 1} 1 udp ${index + 1} ${place} ${port} typ host`),
    "a=end-of-candidates",
  ];
  const lines = media.flatMap((one) => [...(one.startsWith("video") ? film(videoOf(one)) : data()), `a=mid:${midOf(one)}`, ...common]);
  return ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", `a=group:BUNDLE ${taken.join(" ")}`, ...lines, ""].join("\r\n");
}

/** @param {string} media of an offer */
const midOf = (media) => media.match(/^a=mid:(\S+)/m)?.[1] ?? "";

const data = () => ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", ANYWHERE, "a=sctp-port:5000", `a=max-message-size:${MAX_MESSAGE}`];

/** @param {Video | undefined} video none: the browser has no H.264, and is sent none */
function film(video) {
  if (!video) return ["m=video 0 UDP/TLS/RTP/SAVPF 96", ANYWHERE, "a=inactive"];
  const { picture, anew, form } = video;
  return [
    `m=video 9 UDP/TLS/RTP/SAVPF ${picture} ${anew}`,
    ANYWHERE,
    `a=rtpmap:${picture} H264/90000\r\na=fmtp:${picture} ${form}\r\na=rtcp-fb:${picture} nack\r\na=rtcp-fb:${picture} nack pli`,
    `a=rtpmap:${anew} rtx/90000\r\na=fmtp:${anew} apt=${picture}`,
    "a=sendonly\r\na=rtcp-mux",
    `a=ssrc-group:FID ${SSRC} ${ANEW_SSRC}\r\na=ssrc:${SSRC} cname:desktop\r\na=ssrc:${ANEW_SSRC} cname:desktop\r\na=msid:desktop film`,
  ];
}
