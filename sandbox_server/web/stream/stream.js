// The page at /stream/: the element, the state of its connection, and buttons for its attributes.

import { writeClipboard } from "./clipboard.js";
import { bridgeToParent } from "./iframe_bridge.js";
import { MISSING } from "./capabilities.js";
import { canPlayAudio } from "./audio_playback.js";
import "./tandem-view.js";

/** @type {Record<string, [text: string, tone: string]>} */
const STATES = { connecting: ["Connecting…", "waiting"], connected: ["Connected", "good"], lost: ["Connection lost, trying again", "waiting"] };

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const view = /** @type {import("./tandem-view.js").TandemView} */ (find("tandem-view"));
const asked = new URL(location.href).searchParams;
if (["1", "true", "yes", "on"].includes(asked.get("view_only")?.toLowerCase() ?? "")) view.setAttribute("watch", "");
if (asked.get("transport") === "websocket") view.setAttribute("websocket", "");

bridgeToParent(view);
find("[data-shows=sound]").hidden = !canPlayAudio();
view.lacks.then((why) => {
  find("#missing").hidden = !why;
  if (why) find("#missing").textContent = MISSING[why];
});
view.addEventListener("state", (event) => {
  const { state } = /** @type {CustomEvent} */ (event).detail;
  const [text, tone] = STATES[state];
  find("#connection").textContent = text;
  find("#connection").className = `state ${tone}`;
  document.body.dataset.state = state;
});
view.addEventListener("rights", () => {
  find("#watching").hidden = view.control;
  find("[data-shows=microphone]").hidden = !view.microphone;
  find("[data-shows=resize]").hidden = !view.control;
  if (view.control) view.focus();
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
