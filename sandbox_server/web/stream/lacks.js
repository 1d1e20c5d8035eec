// Why a browser shows and plays less than it could: said by the pages, so that nobody has to guess.

import { showsFilms } from "./decoders/film.js";

/** What each of these means to who looks, in English. */
export const LACKS = {
  insecure:
    "This page is not encrypted, so the browser plays no sound, gives it no microphone, keeps it from your clipboard, " +
    "and may show films as single pictures. Open it over https, or at localhost.",
  codec: "This browser cannot decode H.264, so what moves comes as single pictures. Firefox on Linux needs FFmpeg's libavcodec for it.",
};

/**
 * What keeps this browser from all that the stream has.
 * @returns {Promise<"" | "insecure" | "codec">} the page is neither https nor localhost, so it is given no codecs, clipboard and microphone;
 *   or the browser has no H.264; or nothing
 */
export async function lacks() {
  if (!isSecureContext) return "insecure";
  return (await showsFilms()) ? "" : "codec";
}
