// Receives audio packets: each once and in order, whichever message carried it, and counts the messages that were lost.
// A message repeats packets of those before it (redundancy as in RFC 2198).

/** A packet this far behind the newest one belongs to a new stream. */
const NEW_STREAM = 500;
/** Sequence numbers have 16 bits. */
const SEQUENCES = 1 << 16;

/** @typedef {{number: number, packet: Uint8Array}} AudioPacket */

export class AudioReceiver {
  #number = -1;
  /** @type {number | undefined} */
  #sequence;
  #expected = 0;
  #received = 0;

  /**
   * Take an audio message.
   * @param {{kind: "sound", number: number, packet: Uint8Array} | {kind: "sounds", sequence: number, first: number, packets: Uint8Array[]}} message
   * @returns {AudioPacket[]} its packets that are new and not older than one that was returned before
   */
  take(message) {
    if (message.kind === "sound") return this.#unseen([message]);
    this.#count(message.sequence);
    return this.#unseen(message.packets.map((packet, index) => ({ number: message.first + index, packet })));
  }

  /** The share of messages lost since the last call, in 255ths; any loss is at least 1. */
  fractionLost() {
    const share = this.#expected > this.#received ? (this.#expected - this.#received) / this.#expected : 0;
    this.#expected = this.#received = 0;
    return Math.ceil(share * 255);
  }

  /** @param {AudioPacket[]} packets */
  #unseen(packets) {
    const unseen = packets.filter(({ number }) => number > this.#number || number < this.#number - NEW_STREAM);
    if (unseen.length) this.#number = unseen[unseen.length - 1].number;
    return unseen;
  }

  /** @param {number} sequence */
  #count(sequence) {
    const ahead = (sequence - (this.#sequence ?? sequence - 1) + SEQUENCES) % SEQUENCES;
    this.#received++;
    if (ahead >= SEQUENCES / 2) return; // it was overtaken, and counted as expected then
    this.#expected += ahead;
    this.#sequence = sequence;
  }
}
