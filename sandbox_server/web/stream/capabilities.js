// What this browser lacks to show and play everything that the stream has.

import { decodesH264 } from "./decoders/h264.js";

/**
 * The capability that is missing first.
 * @returns {Promise<"" | "insecure" | "codec">} `insecure`: the page is neither https nor localhost, and gets no codecs, clipboard and
 *   microphone; `codec`: the browser has no H.264
 */
export async function missingCapability() {
  if (!isSecureContext) return "insecure";
  return (await decodesH264()) ? "" : "codec";
}
