// Plays the desktop's sound: decodes Opus and hands the samples to the playback worklet.

import { PACKET_MICROSECONDS, SAMPLE_RATE } from "./audio_format.js";

/** Whether this browser can play it: only on https and at localhost. */
export function canPlayAudio() {
  return typeof AudioDecoder !== "undefined" && typeof AudioWorkletNode !== "undefined";
}

export class AudioPlayback {
  /** @type {AudioDecoder | undefined} */
  #decoder;
  /** @type {AudioWorkletNode | undefined} */
  #node;
  /** How many packets were decoded. */
  heard = 0;

  constructor() {
    this.context = new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: "interactive" });
  }

  /** Start playing. Browsers allow it after the person has clicked something on the page. */
  async start() {
    await this.context.audioWorklet.addModule(new URL("./playback_worklet.js", import.meta.url));
    this.#node = new AudioWorkletNode(this.context, "tandem-playback", { numberOfInputs: 0, outputChannelCount: [2] });
    this.#node.connect(this.context.destination);
    await this.context.resume();
  }

  /** @param {number} number @param {Uint8Array} packet of Opus, 20 ms */
  play(number, packet) {
    if (!this.#decoder || this.#decoder.state === "closed") this.#open();
    const decoder = /** @type {AudioDecoder} */ (this.#decoder);
    decoder.decode(new EncodedAudioChunk({ type: "key", timestamp: number * PACKET_MICROSECONDS, data: packet }));
  }

  close() {
    if (this.#decoder && this.#decoder.state !== "closed") this.#decoder.close();
    this.context.close();
  }

  #open() {
    this.#decoder = new AudioDecoder({ output: (sound) => this.#decoded(sound), error: () => {} }); // the next packet opens another
    this.#decoder.configure({ codec: "opus", sampleRate: SAMPLE_RATE, numberOfChannels: 2 });
  }

  /** @param {AudioData} sound */
  #decoded(sound) {
    const [left, right] = [0, 1].map((plane) => {
      const samples = new Float32Array(sound.numberOfFrames);
      sound.copyTo(samples, { planeIndex: Math.min(plane, sound.numberOfChannels - 1), format: "f32-planar" });
      return samples;
    });
    const number = Math.round(sound.timestamp / PACKET_MICROSECONDS);
    sound.close();
    this.heard++;
    this.#node?.port.postMessage({ number, left, right }, [left.buffer, right.buffer]);
  }
}
