// The audio worklet that records the microphone, on the browser's audio thread.

import { PACKET } from "./audio_format.js";

class MicrophoneProcessor extends AudioWorkletProcessor {
  #samples = new Float32Array(PACKET);
  #count = 0;

  /** @param {Float32Array[][]} inputs */
  process([[input]]) {
    for (const sample of input ?? []) {
      this.#samples[this.#count++] = sample;
      if (this.#count === PACKET) this.#post();
    }
    return true;
  }

  #post() {
    this.port.postMessage(this.#samples, [this.#samples.buffer]);
    this.#samples = new Float32Array(PACKET);
    this.#count = 0;
  }
}

registerProcessor("tandem-microphone", MicrophoneProcessor);
