// What this browser lacks to show and play everything that the stream has, and the sentences that tell a person so.

import { decodesH264 } from "./decoders/h264.js";

/** What each missing capability means, in English. */
export const MISSING = {
  insecure:
    "This page is not encrypted, so the browser plays no sound, gives it no microphone, keeps it from your clipboard, " +
    "and may show films as single pictures. Open it over https, or at localhost.",
  codec: "This browser cannot decode H.264, so what moves comes as single pictures. Firefox on Linux needs FFmpeg's libavcodec for it.",
};

/**
 * The capability that is missing first.
 * @returns {Promise<"" | "insecure" | "codec">} `insecure`: the page is neither https nor localhost, and gets no codecs, clipboard and
 *   microphone; `codec`: the browser has no H.264
 */
export async function missingCapability() {
  if (!isSecureContext) return "insecure";
  return (await decodesH264()) ? "" : "codec";
}
