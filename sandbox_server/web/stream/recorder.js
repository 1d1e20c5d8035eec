// What records the voice, on the browser's thread for sound.

import { PACKET } from "./lateness.js";

class Recorder extends AudioWorkletProcessor {
  #samples = new Float32Array(PACKET);
  #count = 0;

  /** @param {Float32Array[][]} inputs */
  process([[input]]) {
    for (const sample of input ?? []) {
      this.#samples[this.#count++] = sample;
      if (this.#count === PACKET) this.#tell();
    }
    return true;
  }

  #tell() {
    this.port.postMessage(this.#samples, [this.#samples.buffer]);
    this.#samples = new Float32Array(PACKET);
    this.#count = 0;
  }
}

registerProcessor("tandem-recorder", Recorder);
