// The desktop's sound at the viewer: decoded, and handed to what plays it.

import { RATE } from "./lateness.js";

const MICROSECONDS_A_PACKET = 20000;

/** Whether this browser can play it: on encrypted pages and on localhost alone. */
export function speaks() {
  return typeof AudioDecoder !== "undefined" && typeof AudioWorkletNode !== "undefined";
}

export class Speaker {
  /** @type {AudioDecoder | undefined} */
  #decoder;
  /** @type {AudioWorkletNode | undefined} */
  #player;
  /** Packets that were heard, for who wants to know that there is sound. */
  heard = 0;

  constructor() {
    this.context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
  }

  /** Be ready to play; a person has to have pressed something on the page before. */
  async start() {
    await this.context.audioWorklet.addModule(new URL("./player.js", import.meta.url));
    this.#player = new AudioWorkletNode(this.context, "tandem-player", { numberOfInputs: 0, outputChannelCount: [2] });
    this.#player.connect(this.context.destination);
    await this.context.resume();
  }

  /** @param {number} number @param {Uint8Array} packet of Opus, 20 ms */
  play(number, packet) {
    if (!this.#decoder || this.#decoder.state === "closed") this.#open();
    const decoder = /** @type {AudioDecoder} */ (this.#decoder);
    decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: number * MICROSECONDS_A_PACKET, data: packet }));
  }

  close() {
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.context.close();
  }

  #open() {
    this.#decoder = new AudioDecoder({ output: (sound) => this.#decoded(sound), error: () => {} }); // the next packet opens another
    this.#decoder.configure({ codec: "opus", sampleRate: RATE, numberOfChannels: 2 });
  }

  /** @param {AudioData} sound */
  #decoded(sound) {
    const [left, right] = [0, 1].map((plane) => {
      const samples = new Float32Array(sound.numberOfFrames);
      sound.copyTo(samples, { planeIndex: Math.min(plane, sound.numberOfChannels - 1), format: "f32-planar" });
      return samples;
    });
    const number = Math.round(sound.timestamp / MICROSECONDS_A_PACKET);
    sound.close();
    this.heard++;
    this.#player?.port.postMessage({ number, left, right }, [left.buffer, right.buffer]);
  }
}
