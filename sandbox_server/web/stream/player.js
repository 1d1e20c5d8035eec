// What plays the sound, on the browser's thread for it.

import { Jitter } from "./jitter.js";

class Player extends AudioWorkletProcessor {
  #jitter = new Jitter();

  constructor() {
    super();
    this.port.onmessage = ({ data: { number, left, right } }) => this.#jitter.put(number, left, right);
  }

  /** @param {Float32Array[][]} _ @param {Float32Array[][]} outputs */
  process(_, [[left, right]]) {
    this.#jitter.take(left, right ?? new Float32Array(left.length));
    return true;
  }
}

registerProcessor("tandem-player", Player);
