// The page at /vnc: the desktop over VNC, to watch or, where that is allowed, to use.

import "/static/bar/bar.js";
import { fill, person } from "/static/strings.js";
import { addFocusByEnter } from "/static/screen_focus.js";
import { ClipboardPanel } from "/static/vnc/clipboard_panel.js";
import { VncConnection } from "/static/vnc/connection.js";
import { translate } from "/static/vnc/strings.js";

const TONES = /** @type {const} */ ({ connecting: "waiting", connected: "good", lost: "waiting", blocked: "bad", refused: "bad" });

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const asked = new URL(location.href).searchParams;
const notice = find("#notice");
/** Whether the desktop was shown before; until then no connection was lost. */
let seen = false;
/** Who is private, so that this viewer sees nothing; empty for nobody. */
let hiddenBy = "";

fill(document, translate);

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
 * @param {keyof typeof TONES} name
 * @param {string} [reason]
 */
function state(name, reason) {
  const shown = find("#connection");
  seen ||= name === "connected";
  shown.textContent = translate(name === "lost" && !seen ? "connecting" : name);
  shown.className = `state ${TONES[name]}`;
  document.body.dataset.state = name;
  if (name !== "connecting" && !hiddenBy) tell(name, reason);
}

/**
 * Explain in the middle of the page why no desktop is shown.
 * @param {keyof typeof TONES} name
 * @param {string} [reason]
 */
function tell(name, reason) {
  notice.hidden = name === "connected";
  find("#copy").toggleAttribute("disabled", name !== "connected" || !find("#watching").hidden);
  find("#notice h2").textContent = translate(name === "refused" ? "noAccess" : name === "blocked" ? "blocked" : seen ? "connectionLost" : "notThereYet");
  find("#notice p").textContent = name === "blocked" ? translate("proxyHeaders") : reason ? sentence(reason) : translate("reconnecting");
  const button = find("#notice button");
  button.hidden = false;
  button.textContent = translate(name === "refused" ? "signIn" : "tryAgain");
  button.onclick = () => (name === "refused" ? location.reload() : viewer.connect());
}

/** @param {string} text */
function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

/** Cover the screen while another person is private; it connects again when that ends. @param {import("/static/bar/lease.js").Control} lease */
function cover({ private: who, you }) {
  const hidden = who !== null && !you.sees ? who : "";
  if (hidden === hiddenBy) return;
  hiddenBy = hidden;
  if (!hidden) return viewer.connect();
  viewer.close();
  notice.hidden = false;
  find("#notice button").hidden = true;
  find("#connection").textContent = translate("private");
  find("#notice h2").textContent = translate("private");
  find("#notice p").textContent = translate("hidden", { name: person(hidden) });
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
async function goFullScreen() {
  await find("#desktop").requestFullscreen();
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
addFocusByEnter(find("#screen"), { label: translate("screen"), hint: translate("enterToControl") }, () => viewer.focus());
find("#whole").hidden = !document.fullscreenEnabled;
find("#whole").onclick = () => goFullScreen();
find("#scale").onclick = () => scale(find("#scale").getAttribute("aria-pressed") === "true");
find("tandem-bar").addEventListener("control", (event) => cover(/** @type {CustomEvent} */ (event).detail.control));
scale(asked.get("resize") !== "off");
viewer.connect();
