// Why a browser shows and plays less than it could: said by the pages, so that nobody has to guess.

import { showsFilms } from "./decoders/film.js";

/**
 * What keeps this browser from all that the stream has.
 * @returns {Promise<"" | "insecure" | "codec">} the page is neither https nor localhost, so it is given no codecs, clipboard and microphone;
 *   or the browser has no H.264; or nothing
 */
export async function lacks() {
  if (!isSecureContext) return "insecure";
  return (await showsFilms()) ? "" : "codec";
}
