// The page's part in a channel of datagrams: it is made here, since workers have no RTCPeerConnection; what it carries is the worker's.
// What is told to whom is in docs/stream-protocol.md, "Datagrams".

/** By their number: messages of the first keep their order, those of the second do not wait for each other. */
const LANES = [{ ordered: true }, { ordered: false }];
const MAX_MESSAGE = 256 * 1024;

export class Peer {
  /** @type {RTCPeerConnection | undefined} */
  #connection;
  /** @type {RTCDataChannel[]} those that could not be given to the worker */
  #channels = [];

  /** @param {Worker} worker */
  constructor(worker) {
    this.worker = worker;
  }

  /** Offer a channel, and tell the worker what to say. */
  async open() {
    this.close();
    if (typeof RTCPeerConnection === "undefined") return;
    const connection = (this.#connection = new RTCPeerConnection());
    connection.onconnectionstatechange = () => {
      if (["failed", "closed"].includes(connection.connectionState) && connection === this.#connection) this.#lost();
    };
    LANES.forEach((order, id) => this.#add(connection.createDataChannel("stream", { ...order, negotiated: true, id }), id));
    const { sdp } = await connection.createOffer();
    await connection.setLocalDescription({ type: "offer", sdp });
    const said = ["ice-ufrag:(\\S+)", "ice-pwd:(\\S+)", "fingerprint:sha-256 (\\S+)"].map((line) => sdp?.match(`a=${line}`)?.[1]);
    if (said.every(Boolean)) this.worker.postMessage({ kind: "offer", text: said.join(" ") });
  }

  /** @param {string} text the server's answer */
  async answer(text) {
    const [name, password, fingerprint, host, port] = text.split(" ");
    const sdp = [
      "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0",
      `a=mid:0\r\na=ice-ufrag:${name}\r\na=ice-pwd:${password}\r\na=fingerprint:sha-256 ${fingerprint}\r\na=setup:passive`,
      `a=sctp-port:5000\r\na=max-message-size:${MAX_MESSAGE}\r\na=candidate:1 1 udp 1 ${host} ${port} typ host\r\na=end-of-candidates\r\n`,
    ].join("\r\n");
    await this.#connection?.setRemoteDescription({ type: "answer", sdp });
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
