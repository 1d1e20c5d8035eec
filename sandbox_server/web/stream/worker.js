// The worker's entry: runs a stream client and passes it the page's messages.

import { StreamClient } from "./stream_client.js";

/** @type {StreamClient} */
let client;

onmessage = ({ data }) => {
  if (data instanceof ArrayBuffer) return client.sendInput(data);
  if (data.kind === "start") {
    client = new StreamClient(data.canvas, data.address, (message, moved = []) => postMessage(message, { transfer: moved }));
    client.start();
  } else if (data.kind === "send") {
    client.sendSpeech(data.message);
  } else if (data.kind === "map") {
    client.renderer.mapped = data.on;
  } else if (data.kind === "presented") {
    client.track.presented(data);
  } else {
    client.channels.handle(data);
  }
};
