// The page at /stream/: the element, the state of its connection, and buttons for its attributes.

import "/static/bar/bar.js";
import { fill } from "/static/strings.js";
import { writeClipboard } from "./clipboard.js";
import { bridgeToParent } from "./iframe_bridge.js";
import { canPlayAudio } from "./audio_playback.js";
import { translate } from "./strings.js";
import "./tandem-view.js";

/** @type {Record<import("./connection_notice.js").StreamState, string>} */
const TONES = { connecting: "waiting", connected: "good", slow: "waiting", stalled: "waiting", lost: "waiting", blocked: "bad" };

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const view = /** @type {import("./tandem-view.js").TandemView} */ (find("tandem-view"));
const asked = new URL(location.href).searchParams;
if (["1", "true", "yes", "on"].includes(asked.get("view_only")?.toLowerCase() ?? "")) view.setAttribute("watch", "");
if (asked.get("transport") === "websocket") view.setAttribute("websocket", "");

/** Whether the desktop was shown before; until then no connection was lost. */
let seen = false;
/** Whether this viewer drove when its rights came last. @type {boolean | undefined} */
let drove;

fill(document, translate);
showState("connecting");
bridgeToParent(view);
find("[data-shows=sound]").hidden = !canPlayAudio();
view.lacks.then((why) => {
  find("#missing").hidden = !why;
  if (why) find("#missing").textContent = translate(why);
});
view.addEventListener("state", (event) => {
  showState(/** @type {CustomEvent} */ (event).detail.state);
});
view.addEventListener("rights", () => {
  find("#watching").hidden = view.control;
  find("[data-shows=microphone]").hidden = !view.microphone;
  find("[data-shows=resize]").hidden = !view.control;
  if (drove === false && view.driving && view.control) view.focus(); // control was taken here just now
  drove = view.driving;
});
view.addEventListener("microphone", () => find("[data-shows=microphone]").setAttribute("aria-pressed", "false"));
view.addEventListener("clipboard", (event) => {
  writeClipboard(/** @type {CustomEvent} */ (event).detail);
});
find("#whole").addEventListener("click", () => view.requestFullscreen());
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-shows]"))) {
  button.addEventListener("click", () => {
    const on = view.toggleAttribute(button.dataset.shows ?? "");
    button.setAttribute("aria-pressed", String(on));
  });
}

/** @param {keyof typeof TONES} state */
function showState(state) {
  seen ||= state === "connected";
  find("#connection").textContent = translate(state === "blocked" ? "blockedShort" : state === "lost" && !seen ? "connecting" : state);
  find("#connection").className = `state ${TONES[state]}`;
  document.body.dataset.state = state;
}
