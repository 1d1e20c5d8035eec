// What the pages use and no library of TypeScript's declares.

declare module "/static/vendor/*";

/** Of the audio thread (https://webaudio.github.io/web-audio-api/#audioworklet). */
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}

declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;
