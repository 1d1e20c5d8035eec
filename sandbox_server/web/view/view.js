// The takeover page at /view: the remote display, the control lease, handoffs and viewers.

import "/static/bar/bar.js";
import { fill, person } from "/static/strings.js";
import { ClipboardPanel } from "/static/vnc/clipboard_panel.js";
import { call } from "/static/api.js";
import { FileDrop } from "./file_drop.js";
import { RemoteDisplay } from "./remote_display.js";
import { SaveLogin } from "./save_login.js";
import { PrivateMode } from "./private_mode.js";
import { translate as describe } from "../stream/strings.js";
import { translate } from "./strings.js";

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const bar = /** @type {import("/static/bar/bar.js").TandemBar} */ (find("tandem-bar"));
const { lease } = bar;
const screen = find("#screen");
const typed = /** @type {HTMLTextAreaElement} */ (find("#typed"));
const text = /** @type {HTMLTextAreaElement} */ (find("#text"));
let drove = false;
/** Whether the screen was shown before; until then no connection was lost. */
let seen = false;

fill(document, translate);

const privacy = new PrivateMode({ banner: find("#private"), cover: find("#cover") }, (text) => bar.notify(text));
/** @type {RemoteDisplay} */
const display = new RemoteDisplay(screen, {
  state: showState,
  copied: (copied) => clipboard.take(copied),
  rights: () => (find("#microphone").hidden = display.microphone === undefined),
  unheard: (reason) => {
    toggleMicrophone(false);
    bar.notify(translate("unheard", { reason }));
  },
});
const clipboard = new ClipboardPanel({ text, hint: find("#hint"), join: find("#join") }, (content) => display.paste(content));
bar.addEventListener("control", (event) => {
  const { control, kind, by } = /** @type {CustomEvent} */ (event).detail;
  changed(control, kind, by);
});
bar.addEventListener("handoffs", () => requestAnimationFrame(frameRegion));
display.show().then(async () => {
  toggleTrackpad(matchMedia("(pointer: coarse) and (max-width: 48rem)").matches);
  const why = await display.missingCapability();
  find("#missing").hidden = !why;
  if (why) find("#missing").textContent = describe(why);
});

/**
 * @param {import("/static/bar/lease.js").Control} control
 * @param {string} kind
 * @param {string} by
 */
function changed(control, kind, by) {
  privacy.show(control, kind);
  document.title = `${bar.driverText} · Tandem`;
  const drives = control.you.driving && control.you.role !== "view";
  find("#keyboard").hidden = !drives || !matchMedia("(pointer: coarse)").matches;
  find("#trackpad").hidden = find("#keyboard").hidden || display.trackpad === undefined;
  find("#clip").hidden = !drives;
  find("#fit").hidden = !drives || display.fits === undefined;
  if (drives && !drove && kind === "taken" && by === control.you.name) bar.notify(translate("taken"));
  drove = drives;
}

/** Draw a frame around the region of the first request. */
function frameRegion() {
  const region = bar.handoffs.find((handoff) => handoff.region)?.region;
  const place = display.place();
  const frame = find("#region");
  frame.hidden = !region || !place;
  if (!region || !place) return;
  const main = find("main");
  const around = main.getBoundingClientRect();
  const scale = place.box.width / place.width;
  frame.style.left = `${place.box.left - around.left - main.clientLeft + region.x * scale}px`;
  frame.style.top = `${place.box.top - around.top - main.clientTop + region.y * scale}px`;
  frame.style.width = `${region.width * scale}px`;
  frame.style.height = `${region.height * scale}px`;
}

/** @param {import("./remote_display.js").State} state */
function showState(state) {
  const said = find("#picture");
  seen ||= state === "connected";
  said.hidden = state === "connected" || (display.explains && ["slow", "stalled", "blocked"].includes(state));
  find("main").dataset.picture = state;
  if (state === "connected") setTimeout(frameRegion, 500); // the screen has its size by then
  find("#sound").hidden = display.sound === undefined;
  said.textContent = stateText(state);
}

/** @param {import("./remote_display.js").State} state */
function stateText(state) {
  if (state === "refused" || state === "blocked") return translate(state);
  return translate(state === "lost" && seen ? "disconnected" : "connecting");
}

/** Turn the person's microphone on or off. @param {boolean} on */
function toggleMicrophone(on) {
  display.microphone = on;
  find("#microphone").setAttribute("aria-pressed", String(on));
}

/** Turn the trackpad mode on or off. @param {boolean} on */
function toggleTrackpad(on) {
  display.trackpad = on;
  find("#trackpad").setAttribute("aria-pressed", String(on));
}

/** Explain a click on the screen that does nothing. */
function explainClick() {
  const now = lease.now;
  if (find("main").dataset.picture === "blocked") return bar.notify(translate("blockedInput"));
  if (!now || now.you.driving) return;
  if (now.you.role === "view") return bar.notify(translate("watchingOnly"));
  const name = now.state === "human" ? person(now.holder ?? "") : translate("agentName");
  if (now.state === "human") bar.notify(translate("dropped", { name }));
  else if (now.state === "frozen") bar.notify(translate("frozen"));
  else if (now.take !== "implicit") bar.notify(translate("noControl"));
}

new ResizeObserver(() => requestAnimationFrame(frameRegion)).observe(screen); // the screen has its size by then
find("#notify").hidden = globalThis.Notification?.permission !== "default";
find("#notify").onclick = async () => {
  find("#notify").hidden = (await Notification.requestPermission()) !== "default";
};
screen.addEventListener("pointerdown", explainClick, { capture: true });
find("#keyboard").onclick = () => display.keyboard() || typed.focus();
find("#sound").onclick = () => {
  display.sound = !display.sound;
  find("#sound").setAttribute("aria-pressed", String(display.sound));
};
find("#microphone").onclick = () => toggleMicrophone(!display.microphone);
find("#fit").onclick = () => {
  display.fits = !display.fits;
  find("#fit").setAttribute("aria-pressed", String(display.fits));
};
find("#trackpad").onclick = () => toggleTrackpad(!display.trackpad);
typed.addEventListener("input", () => {
  display.type(typed.value);
  typed.value = "";
  typed.focus();
});
find("#type").onclick = () => {
  find("#clipboard").hidePopover();
  display.type(text.value);
};
new FileDrop({
  over: find("main"),
  notes: find("#drops"),
  choose: /** @type {HTMLButtonElement} */ (find("#send")),
  files: /** @type {HTMLInputElement} */ (find("#files")),
});
new SaveLogin({
  form: /** @type {HTMLFormElement} */ (find("#save-login")),
  name: /** @type {HTMLInputElement} */ (find("#profile")),
  hint: find("#saved"),
  save: /** @type {HTMLButtonElement} */ (find("#save")),
});
call("GET", "/auth", { whole: true }).then(
  ({ scopes }) => {
    find("#send").hidden = !scopes.split(" ").includes("files");
    find("#login").hidden = !scopes.split(" ").includes("browser");
  },
  () => {}, // the bar says what is wrong
);
find("#whole").hidden = !document.fullscreenEnabled;
find("#whole").onclick = () => document.documentElement.requestFullscreen();
