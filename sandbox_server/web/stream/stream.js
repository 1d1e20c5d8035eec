// The page around the stream: how it goes, and what may be drawn over it.

import { keep } from "./clipboard.js";
import { join } from "./frame.js";
import { LACKS } from "./lacks.js";
import { speaks } from "./speaker.js";
import "./tandem-view.js";

/** @type {Record<string, [text: string, tone: string]>} */
const STATES = { connecting: ["Connecting…", "waiting"], connected: ["Connected", "good"], lost: ["Connection lost, trying again", "waiting"] };

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const view = /** @type {import("./tandem-view.js").TandemView} */ (find("tandem-view"));
const asked = new URL(location.href).searchParams;
if (["1", "true", "yes", "on"].includes(asked.get("view_only")?.toLowerCase() ?? "")) view.setAttribute("watch", "");
if (asked.get("transport") === "websocket") view.setAttribute("websocket", "");

join(view);
find("[data-shows=sound]").hidden = !speaks();
view.lacks.then((why) => {
  find("#lacks").hidden = !why;
  if (why) find("#lacks").textContent = LACKS[why];
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
  keep(/** @type {CustomEvent} */ (event).detail);
});
find("#whole").addEventListener("click", () => view.requestFullscreen());
for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-shows]"))) {
  button.addEventListener("click", () => {
    const on = view.toggleAttribute(button.dataset.shows ?? "");
    button.setAttribute("aria-pressed", String(on));
  });
}
