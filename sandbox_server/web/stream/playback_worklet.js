// The audio worklet that plays the desktop's sound, on the browser's audio thread.

import { JitterBuffer } from "./jitter_buffer.js";

class PlaybackProcessor extends AudioWorkletProcessor {
  #buffer = new JitterBuffer();

  constructor() {
    super();
    this.port.onmessage = ({ data: { number, left, right } }) => this.#buffer.put(number, left, right);
  }

  /** @param {Float32Array[][]} _ @param {Float32Array[][]} outputs */
  process(_, [[left, right]]) {
    this.#buffer.take(left, right ?? new Float32Array(left.length));
    return true;
  }
}

registerProcessor("tandem-playback", PlaybackProcessor);
