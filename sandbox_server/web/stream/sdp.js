// Session descriptions (SDP): what the worker tells the server of an offer, and the answer that the server would have written.
// The server has one kind of answer, so only its ICE credentials, fingerprint and address are exchanged: docs/stream-protocol.md, "Datagrams".

const MAX_MESSAGE = 256 * 1024;
/** Of the server's video, and of its retransmissions. */
const [SSRC, RTX_SSRC] = [1001, 1002];
const CONNECTION = "c=IN IP4 0.0.0.0";

/** @typedef {{h264: string, rtx: string, parameters: string}} VideoFormat payload types of H.264 and of its retransmissions, and the fmtp of the former */

/**
 * @param {string} sdp an offer
 * @returns {string[]} ICE user name and password, fingerprint, and the payload types of video if there are any; empty where one is missing
 */
export function describeOffer(sdp) {
  const credentials = ["ice-ufrag:(\\S+)", "ice-pwd:(\\S+)", "fingerprint:sha-256 (\\S+)"].map((line) => sdp.match(`a=${line}`)?.[1]);
  if (!credentials.every((value) => value !== undefined)) return [];
  const video = videoFormat(sdp);
  return [...credentials, ...(video ? [video.h264, video.rtx] : [])];
}

/**
 * @param {string} sdp an offer
 * @returns {VideoFormat | undefined} the constrained baseline profile of H.264, if its packets can be retransmitted
 */
export function videoFormat(sdp) {
  for (const [, h264] of sdp.matchAll(/a=rtpmap:(\d+) H264\/90000/g)) {
    const parameters = sdp.match(`a=fmtp:${h264} (\\S*packetization-mode=1\\S*)`)?.[1];
    const rtx = sdp.match(`a=fmtp:(\\d+) apt=${h264}\\r`)?.[1];
    if (parameters && rtx && /profile-level-id=42[ce]0/.test(parameters)) return { h264, rtx, parameters };
  }
  return undefined;
}

/**
 * @param {string} offered what this side has offered
 * @param {string} text what the server says of itself
 * @returns {string} the server's answer in SDP: one for each media section of the offer, in its order
 */
export function answerTo(offered, text) {
  const [name, password, fingerprint, host, port, address] = text.split(" ");
  const hosts = address ? [host, address] : [host]; // Firefox accepts no host name in a candidate
  const sections = offered.split(/^m=/m).slice(1);
  const accepted = sections.filter((section) => !section.startsWith("video") || videoFormat(section)).map(midOf);
  const common = [
    `a=ice-ufrag:${name}\r\na=ice-pwd:${password}\r\na=fingerprint:sha-256 ${fingerprint}\r\na=setup:passive`,
    ...hosts.map((each, index) => `a=candidate:${index + 1} 1 udp ${index + 1} ${each} ${port} typ host`),
    "a=end-of-candidates",
  ];
  const lines = sections.flatMap((section) => [
    ...(section.startsWith("video") ? videoSection(videoFormat(section)) : dataSection()),
    `a=mid:${midOf(section)}`,
    ...common,
  ]);
  return ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", `a=group:BUNDLE ${accepted.join(" ")}`, ...lines, ""].join("\r\n");
}

/** @param {string} section a media section of an offer */
const midOf = (section) => section.match(/^a=mid:(\S+)/m)?.[1] ?? "";

const dataSection = () => ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", CONNECTION, "a=sctp-port:5000", `a=max-message-size:${MAX_MESSAGE}`];

/** @param {VideoFormat | undefined} format undefined where the browser has no H.264: it is sent no video */
function videoSection(format) {
  if (!format) return ["m=video 0 UDP/TLS/RTP/SAVPF 96", CONNECTION, "a=inactive"];
  const { h264, rtx, parameters } = format;
  return [
    `m=video 9 UDP/TLS/RTP/SAVPF ${h264} ${rtx}`,
    CONNECTION,
    `a=rtpmap:${h264} H264/90000\r\na=fmtp:${h264} ${parameters}\r\na=rtcp-fb:${h264} nack\r\na=rtcp-fb:${h264} nack pli`,
    `a=rtpmap:${rtx} rtx/90000\r\na=fmtp:${rtx} apt=${h264}`,
    "a=sendonly\r\na=rtcp-mux",
    `a=ssrc-group:FID ${SSRC} ${RTX_SSRC}\r\na=ssrc:${SSRC} cname:desktop\r\na=ssrc:${RTX_SSRC} cname:desktop\r\na=msid:desktop video`,
  ];
}
