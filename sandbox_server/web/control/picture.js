// The computer's screen on the page, whatever brings it: VNC, or the stream where the address says `?picture=stream`.

import { Viewer } from "/static/vnc/viewer.js";

/**
 * @typedef {object} Picture
 * @property {(text: string) => void} paste put a text on the desktop's clipboard
 * @property {(text: string) => void} type type it key by key
 * @property {() => void} focus
 */

/**
 * @param {HTMLElement} screen
 * @param {(state: "connecting" | "connected" | "lost" | "refused") => void} state
 * @param {(text: string) => void} copied
 * @returns {Promise<Picture>}
 */
export async function picture(screen, state, copied) {
  return new URL(location.href).searchParams.get("picture") === "stream" ? stream(screen, state, copied) : vnc(screen, state, copied);
}

/** @type {typeof picture} */
async function vnc(screen, state, copied) {
  const address = new URL("/websockify", location.origin);
  address.protocol = address.protocol.replace("http", "ws");
  const viewer = new Viewer(screen, { address, watch: false, quiet: true }, { state, control: () => {}, copied });
  viewer.connect();
  return viewer;
}

/** @type {typeof picture} */
async function stream(screen, state, copied) {
  await import("/static/view/tandem-view.js");
  const view = /** @type {import("../view/tandem-view.js").TandemView} */ (document.createElement("tandem-view"));
  view.addEventListener("state", (event) => state(/** @type {CustomEvent} */ (event).detail.state));
  view.addEventListener("clipboard", (event) => copied(/** @type {CustomEvent} */ (event).detail.text));
  screen.append(view);
  return view;
}
