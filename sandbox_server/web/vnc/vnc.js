// The page at /vnc: the desktop over VNC, to watch or, where that is allowed, to use.

import { ClipboardPanel } from "/static/vnc/clipboard_panel.js";
import { VncConnection } from "/static/vnc/connection.js";

const STATES = /** @type {const} */ ({
  connecting: ["Connecting…", "waiting"],
  connected: ["Connected", "good"],
  lost: ["Connection lost, trying again", "waiting"],
  refused: ["Not connected", "bad"],
});

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const asked = new URL(location.href).searchParams;
const notice = find("#notice");
/** Whether the desktop was shown before; until then no connection was lost. */
let seen = false;

const viewer = new VncConnection(find("#screen"), { address: address(), watch: isTrue("view_only") }, { state, control, copied });
const clipboard = new ClipboardPanel({ text: find("#text"), hint: find("#hint"), join: find("#join") }, (text) => viewer.paste(text));

/** The WebSocket's address: on this sandbox, with the page's `path`. A ticket in it was used up by the page itself. */
function address() {
  const found = new URL(`/${(asked.get("path") ?? "websockify").replace(/^[/\\]+/, "")}`, location.origin);
  found.searchParams.delete("ticket");
  found.protocol = found.protocol.replace("http", "ws");
  return found;
}

/** @param {string} name */
function isTrue(name) {
  return ["1", "true", "yes", "on"].includes(asked.get(name)?.toLowerCase() ?? "");
}

/**
 * @param {keyof typeof STATES} name
 * @param {string} [reason]
 */
function state(name, reason) {
  const [text, tone] = STATES[name];
  const shown = find("#connection");
  shown.textContent = text;
  shown.className = `state ${tone}`;
  document.body.dataset.state = name;
  seen ||= name === "connected";
  if (name !== "connecting") tell(name, reason);
}

/**
 * Explain in the middle of the page why no desktop is shown.
 * @param {keyof typeof STATES} name
 * @param {string} [reason]
 */
function tell(name, reason) {
  notice.hidden = name === "connected";
  find("#copy").toggleAttribute("disabled", name !== "connected" || !find("#watching").hidden);
  find("#notice h2").textContent = name === "refused" ? "No access" : seen ? "Connection lost" : "The desktop is not there yet";
  find("#notice p").textContent = reason ? sentence(reason) : "It is tried again until it works.";
  const button = find("#notice button");
  button.textContent = name === "refused" ? "Sign in" : "Try again now";
  button.onclick = () => (name === "refused" ? location.reload() : viewer.connect());
}

/** @param {string} text */
function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

/** @param {boolean} allowed */
function control(allowed) {
  find("#watching").hidden = allowed;
}

/** @param {string} text */
function copied(text) {
  clipboard.take({ text });
}

/** Go full screen; where the browser can, keys such as Escape then go to the desktop too. */
async function fill() {
  await find("main").requestFullscreen();
  await /** @type {any} */ (navigator).keyboard?.lock().catch(() => {});
  viewer.focus();
}

/** @param {boolean} fitted to the window, or pixel by pixel */
function scale(fitted) {
  find("#scale").setAttribute("aria-pressed", String(!fitted));
  viewer.scaled = fitted;
}

find("#type").onclick = () => {
  find("#clipboard").hidePopover();
  viewer.type(/** @type {HTMLTextAreaElement} */ (find("#text")).value);
};
find("#whole").hidden = !document.fullscreenEnabled;
find("#whole").onclick = () => fill();
find("#scale").onclick = () => scale(find("#scale").getAttribute("aria-pressed") === "true");
scale(asked.get("resize") !== "off");
viewer.connect();
