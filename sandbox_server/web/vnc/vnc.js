// The desktop's page: see it, use it where that is allowed, and know which of the two it is.

import { Clipboard } from "/static/vnc/clipboard.js";
import { Viewer } from "/static/vnc/viewer.js";

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
/** Whether the desktop was on the page before: until then there is nothing that was lost. */
let seen = false;

const viewer = new Viewer(find("#screen"), { address: address(), watch: isTrue("view_only") }, { state, control, copied });
const clipboard = new Clipboard({ text: find("#text"), hint: find("#hint"), join: find("#join") }, (text) => viewer.paste(text));

/** Where the socket is: on this sandbox, by the path that the page was given. A ticket in it was spent on the page itself. */
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
 * Say in the middle of the page why there is no desktop on it.
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

/** Show the desktop on the whole screen; where the browser can, keys such as Escape go to the desktop, too. */
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
