// Records the person's microphone and encodes it as Opus; silence is not sent.

import { PACKET, PACKET_MICROSECONDS, SAMPLE_RATE } from "./audio_format.js";

const BITS = 32000;
/** With discontinuous transmission, Opus encodes silence in at most this many bytes. */
const SILENT_BYTES = 2;

/** Whether this browser can record it: only on https and at localhost. */
export function canRecordAudio() {
  return typeof AudioEncoder !== "undefined" && typeof AudioWorkletNode !== "undefined" && !!navigator.mediaDevices;
}

export class Microphone {
  #context = new AudioContext({ sampleRate: SAMPLE_RATE, latencyHint: "interactive" });
  #encoder = new AudioEncoder({ output: (chunk) => this.#encoded(chunk), error: () => this.close() });
  /** @type {MediaStream | undefined} */
  #stream;
  #closed = false;
  #number = 0;
  /** Nothing is sent while it is muted. */
  muted = true;

  /** @param {(number: number, packet: Uint8Array) => void} onPacket given each packet of 20 ms, with its number */
  constructor(onPacket) {
    this.onPacket = onPacket;
    this.#encoder.configure({
      codec: "opus",
      sampleRate: SAMPLE_RATE,
      numberOfChannels: 1,
      bitrate: BITS,
      opus: /** @type {any} the library's types know no `signal` */ ({
        application: "voip",
        signal: "voice",
        frameDuration: PACKET_MICROSECONDS,
        usedtx: true,
      }),
    });
  }

  /** Ask for the microphone, and record. Rejects where the person or the browser refuses. */
  async start() {
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
    });
    this.#stream = stream;
    if (this.#closed) return this.close();
    await this.#context.audioWorklet.addModule(new URL("./microphone_worklet.js", import.meta.url));
    if (this.#closed) return;
    const node = new AudioWorkletNode(this.#context, "tandem-microphone", { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" });
    node.port.onmessage = ({ data }) => this.#recorded(data);
    this.#context.createMediaStreamSource(stream).connect(node);
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
    const timestamp = ++this.#number * PACKET_MICROSECONDS;
    if (this.#closed || this.muted) return;
    const sound = new AudioData({ format: "f32", sampleRate: SAMPLE_RATE, numberOfChannels: 1, numberOfFrames: PACKET, timestamp, data: samples });
    this.#encoder.encode(sound);
    sound.close();
  }

  /** @param {EncodedAudioChunk} chunk */
  #encoded(chunk) {
    if (this.muted || chunk.byteLength <= SILENT_BYTES) return;
    const packet = new Uint8Array(chunk.byteLength);
    chunk.copyTo(packet);
    this.onPacket(Math.round(chunk.timestamp / PACKET_MICROSECONDS), packet);
  }
}
