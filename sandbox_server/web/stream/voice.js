// What a person says, for the desktop's microphone: recorded, encoded, and not sent while nobody talks.

import { PACKET, RATE } from "./lateness.js";

const BITS = 32000;
/** No more than that is what Opus makes of a silence: it need not be sent. */
const SILENT_BYTES = 2;
const MICROSECONDS_A_PACKET = 20000;

/** Whether this browser can record it: on encrypted pages and on localhost alone. */
export function listens() {
  return typeof AudioEncoder !== "undefined" && typeof AudioWorkletNode !== "undefined" && !!navigator.mediaDevices;
}

export class Voice {
  #context = new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
  #encoder = new AudioEncoder({ output: (chunk) => this.#encoded(chunk), error: () => this.close() });
  /** @type {MediaStream | undefined} */
  #stream;
  #closed = false;
  #number = 0;
  /** Whether nothing of it is sent. */
  muted = true;

  /** @param {(number: number, packet: Uint8Array) => void} said is given each packet of 20 ms, with its number */
  constructor(said) {
    this.said = said;
    this.#encoder.configure({
      codec: "opus",
      sampleRate: RATE,
      numberOfChannels: 1,
      bitrate: BITS,
      opus: /** @type {any} the library's types know no `signal` */ ({
        application: "voip",
        signal: "voice",
        frameDuration: MICROSECONDS_A_PACKET,
        usedtx: true,
      }),
    });
  }

  /** Ask for the microphone, and record. Rejected where the person or the browser refuses. */
  async start() {
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    });
    this.#stream = stream;
    if (this.#closed) return this.close();
    await this.#context.audioWorklet.addModule(new URL("./recorder.js", import.meta.url));
    if (this.#closed) return;
    const recorder = new AudioWorkletNode(this.#context, "tandem-recorder", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    recorder.port.onmessage = ({ data }) => this.#recorded(data);
    this.#context.createMediaStreamSource(stream).connect(recorder);
    await this.#context.resume();
  }

  close() {
    this.#stream?.getTracks().forEach((track) => track.stop());
    if (this.#closed) return;
    this.#closed = true;
    if (this.#encoder.state !== "closed") this.#encoder.close();
    this.#context.close();
  }

  /** @param {Float32Array<ArrayBuffer>} samples 20 ms of them */
  #recorded(samples) {
    const timestamp = ++this.#number * MICROSECONDS_A_PACKET;
    if (this.#closed || this.muted) return;
    const sound = new AudioData({ format: "f32", sampleRate: RATE, numberOfChannels: 1, numberOfFrames: PACKET, timestamp, data: samples });
    this.#encoder.encode(sound);
    sound.close();
  }

  /** @param {EncodedAudioChunk} chunk */
  #encoded(chunk) {
    if (this.muted || chunk.byteLength <= SILENT_BYTES) return;
    const packet = new Uint8Array(chunk.byteLength);
    chunk.copyTo(packet);
    this.said(Math.round(chunk.timestamp / MICROSECONDS_A_PACKET), packet);
  }
}
