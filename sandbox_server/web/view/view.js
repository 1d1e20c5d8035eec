// The takeover page at /view: the remote display, the control lease, handoffs and viewers.

import { ClipboardPanel } from "/static/vnc/clipboard_panel.js";
import { call } from "/static/api.js";
import { FileDrop } from "./file_drop.js";
import { Handoffs } from "./handoffs.js";
import { Lease } from "./lease.js";
import { ControlBar } from "./control_bar.js";
import { RemoteDisplay } from "./remote_display.js";
import { PrivateMode } from "./private_mode.js";
import { ViewerList } from "./viewer_list.js";
import { language, person, translate } from "./strings.js";

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const screen = find("#screen");
const typed = /** @type {HTMLTextAreaElement} */ (find("#typed"));
const text = /** @type {HTMLTextAreaElement} */ (find("#text"));
let drove = false;

document.documentElement.lang = language;
screen.setAttribute("aria-label", `${translate("screen")}. ${translate("shortcuts")}`);
typed.setAttribute("aria-label", translate("keyboard"));
text.placeholder = translate("clipEmpty");
for (const [id, key] of /** @type {const} */ ([
  ["keyboard", "keyboard"],
  ["clip", "clipboard"],
  ["clip-label", "clipLabel"],
  ["type", "type"],
  ["join", "join"],
  ["terminal", "terminal"],
  ["whole", "whole"],
  ["notify", "notify"],
  ["send", "send"],
  ["trackpad", "trackpad"],
  ["sound", "sound"],
  ["microphone", "microphone"],
  ["fit", "fit"],
])) {
  find(`#${id}`).textContent = translate(key);
}

for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-says]"))) {
  element.textContent = translate(/** @type {"invite"} */ (element.dataset.says));
}
find("#link").setAttribute("aria-label", translate("link"));

const lease = new Lease(changed, (reason) => showConnection(reason === "lost" ? "disconnected" : "refused"));
const bar = new ControlBar({ driver: find("#driver"), actions: find("#actions"), notices: find("#notices"), viewers: find("#viewers") }, lease);
const privacy = new PrivateMode({ screen, cover: find("#private") }, lease, (text) => bar.notify(text));
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
const viewers = new ViewerList(
  {
    list: find("#list"),
    form: /** @type {HTMLFormElement} */ (find("#invite")),
    link: /** @type {HTMLInputElement} */ (find("#link")),
    copy: /** @type {HTMLButtonElement} */ (find("#copy-link")),
  },
  (error) => bar.notify(translate("failed", { reason: error.message })),
);
showConnection("connecting");
const handoffs = new Handoffs(find("#handoffs"), {
  you: () => (lease.now && lease.now.you.person && lease.now.you.role !== "view" ? lease.now.you.name : undefined),
  others: () => {
    const may = lease.now?.viewers.filter(({ you, role }) => !you && role !== "view") ?? [];
    return may.map(({ name }) => name);
  },
  decides: () => lease.now?.you.role === "admin",
  take: async () => {
    if (!lease.now?.you.driving) await lease.do("take");
  },
  release: async () => {
    if (lease.now?.holder === lease.now?.you.name) await lease.do("release");
  },
  failed: (error) => bar.notify(translate("failed", { reason: error.message })),
  changed: () => {
    title();
    requestAnimationFrame(frameRegion);
  },
});
lease.follow();
handoffs.follow();
display.show().then(async () => {
  toggleTrackpad(matchMedia("(pointer: coarse) and (max-width: 48rem)").matches);
  const why = await display.missingCapability();
  find("#missing").hidden = !why;
  if (why) find("#missing").textContent = translate(why);
});

/**
 * @param {import("./lease.js").Control} control
 * @param {string} kind
 * @param {string} by
 */
function changed(control, kind, by) {
  bar.show(control);
  viewers.show(control);
  privacy.show(control, kind);
  find("#driver").title = "";
  title();
  if (handoffs.open.length) handoffs.show();
  const drives = control.you.driving && control.you.role !== "view";
  find("#keyboard").hidden = !drives || !matchMedia("(pointer: coarse)").matches;
  find("#trackpad").hidden = find("#keyboard").hidden || display.trackpad === undefined;
  find("#clip").hidden = !drives;
  find("#fit").hidden = !drives || display.fits === undefined;
  if (drives && !drove && kind === "taken" && by === control.you.name) bar.notify(translate("taken"));
  drove = drives;
}

function title() {
  const count = handoffs.open.length;
  document.title = `${count ? `(${count}) ` : ""}${find("#driver").textContent} · Tandem`;
}

/** Draw a frame around the region of the first request. */
function frameRegion() {
  const region = handoffs.open.find((handoff) => handoff.region)?.region;
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

/** @param {"connecting" | "disconnected" | "refused"} reason */
function showConnection(reason) {
  find("#driver").textContent = translate(reason);
  find("#driver").className = `state ${reason === "refused" ? "bad" : "waiting"}`;
}

/** @param {"connecting" | "connected" | "lost" | "refused"} state */
function showState(state) {
  const said = find("#picture");
  said.hidden = state === "connected";
  find("main").dataset.picture = state;
  if (state === "connected") setTimeout(frameRegion, 500); // the screen has its size by then
  find("#sound").hidden = display.sound === undefined;
  said.textContent = translate(state === "refused" ? "refused" : state === "lost" ? "disconnected" : "connecting");
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
  if (!now || now.you.driving || now.you.role === "view") return;
  const name = now.state === "human" ? person(now.holder ?? "") : translate("agentName");
  if (now.state === "human") bar.notify(translate("dropped", { name }));
  else if (now.state === "frozen") bar.notify(translate("frozen"));
  else if (now.take !== "implicit") bar.notify(translate("noControl"));
}

/** Keyboard shortcuts of the page, which work while the desktop has the focus. @param {KeyboardEvent} event */
function shortcut(event) {
  if (!event.ctrlKey || !event.altKey || !["Enter", "Backspace", "p"].includes(event.key)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.key === "p") return void privacy.toggle().catch((error) => bar.notify(translate("failed", { reason: error.message })));
  const first = bar.primaryAction();
  /** @type {HTMLElement | null} */ (document.querySelector("#actions button"))?.focus();
  if (event.key === "Enter" && first) bar.run(first);
}

new ResizeObserver(() => requestAnimationFrame(frameRegion)).observe(screen); // the screen has its size by then
find("#notify").hidden = globalThis.Notification?.permission !== "default";
find("#notify").onclick = async () => {
  find("#notify").hidden = (await Notification.requestPermission()) !== "default";
};
screen.addEventListener("pointerdown", explainClick, { capture: true });
addEventListener("keydown", shortcut, { capture: true });
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
call("GET", "/auth", { whole: true }).then(({ scopes }) => {
  find("#send").hidden = !scopes.split(" ").includes("files");
});
find("#whole").hidden = !document.fullscreenEnabled;
find("#whole").onclick = () => document.documentElement.requestFullscreen();
