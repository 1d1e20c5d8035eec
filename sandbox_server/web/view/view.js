// The computer as a person sees it: its screen, who drives it, and how to take it and give it back.

import { Clipboard } from "/static/vnc/clipboard.js";
import { call } from "/static/api.js";
import { Drop } from "./drop.js";
import { Handoffs } from "./handoffs.js";
import { Lease } from "./lease.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { Privacy } from "./private.js";
import { Viewers } from "./viewers.js";
import { language, person, say } from "./words.js";

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const screen = find("#screen");
const typed = /** @type {HTMLTextAreaElement} */ (find("#typed"));
const text = /** @type {HTMLTextAreaElement} */ (find("#text"));
let drove = false;

document.documentElement.lang = language;
screen.setAttribute("aria-label", `${say("screen")}. ${say("shortcuts")}`);
typed.setAttribute("aria-label", say("keyboard"));
text.placeholder = say("clipEmpty");
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
  find(`#${id}`).textContent = say(key);
}

for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-says]"))) {
  element.textContent = say(/** @type {"invite"} */ (element.dataset.says));
}
find("#link").setAttribute("aria-label", say("link"));

const lease = new Lease(changed, (reason) => broken(reason === "lost" ? "disconnected" : "refused"));
const panel = new Panel({ driver: find("#driver"), actions: find("#actions"), notices: find("#notices"), viewers: find("#viewers") }, lease);
const privacy = new Privacy({ screen, cover: find("#private") }, lease, (text) => panel.say(text));
/** @type {Picture} */
const shown = new Picture(screen, {
  state: pictured,
  copied: (copied) => clipboard.take(copied),
  rights: () => (find("#microphone").hidden = shown.microphone === undefined),
  unheard: (reason) => {
    speak(false);
    panel.say(say("unheard", { reason }));
  },
});
const clipboard = new Clipboard({ text, hint: find("#hint"), join: find("#join") }, (content) => shown.paste(content));
const viewers = new Viewers(
  {
    list: find("#list"),
    form: /** @type {HTMLFormElement} */ (find("#invite")),
    link: /** @type {HTMLInputElement} */ (find("#link")),
    copy: /** @type {HTMLButtonElement} */ (find("#copy-link")),
  },
  (error) => panel.say(say("failed", { reason: error.message })),
);
broken("connecting");
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
  back: async () => {
    if (lease.now?.holder === lease.now?.you.name) await lease.do("release");
  },
  failed: (error) => panel.say(say("failed", { reason: error.message })),
  changed: () => {
    title();
    requestAnimationFrame(point);
  },
});
lease.follow();
handoffs.follow();
shown.show().then(async () => {
  trackpad(matchMedia("(pointer: coarse) and (max-width: 48rem)").matches);
  const why = await shown.lacks();
  find("#lacks").hidden = !why;
  if (why) find("#lacks").textContent = say(why);
});

/**
 * @param {import("./lease.js").Control} control
 * @param {string} kind
 * @param {string} by
 */
function changed(control, kind, by) {
  panel.show(control);
  viewers.show(control);
  privacy.show(control, kind);
  find("#driver").title = "";
  title();
  if (handoffs.open.length) handoffs.show();
  const drives = control.you.driving && control.you.role !== "view";
  find("#keyboard").hidden = !drives || !matchMedia("(pointer: coarse)").matches;
  find("#trackpad").hidden = find("#keyboard").hidden || shown.trackpad === undefined;
  find("#clip").hidden = !drives;
  find("#fit").hidden = !drives || shown.fits === undefined;
  if (drives && !drove && kind === "taken" && by === control.you.name) panel.say(say("taken"));
  drove = drives;
}

function title() {
  const count = handoffs.open.length;
  document.title = `${count ? `(${count}) ` : ""}${find("#driver").textContent} · Tandem`;
}

/** Draw a frame around what the first request is about, where the screen is on the page by now. */
function point() {
  const region = handoffs.open.find((handoff) => handoff.region)?.region;
  const place = shown.place();
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
function broken(reason) {
  find("#driver").textContent = say(reason);
  find("#driver").className = `state ${reason === "refused" ? "bad" : "waiting"}`;
}

/** @param {"connecting" | "connected" | "lost" | "refused"} state */
function pictured(state) {
  const said = find("#picture");
  said.hidden = state === "connected";
  find("main").dataset.picture = state;
  if (state === "connected") setTimeout(point, 500); // the picture is fitted by then
  find("#sound").hidden = shown.sound === undefined;
  said.textContent = say(state === "refused" ? "refused" : state === "lost" ? "disconnected" : "connecting");
}

/** The desktop's microphone hears the person while they drive, or does not. @param {boolean} on */
function speak(on) {
  shown.microphone = on;
  find("#microphone").setAttribute("aria-pressed", String(on));
}

/** Fingers move the pointer, or are it. @param {boolean} on */
function trackpad(on) {
  shown.trackpad = on;
  find("#trackpad").setAttribute("aria-pressed", String(on));
}

/** Somebody clicks the screen: say why it does nothing, if it does. */
function clicked() {
  const now = lease.now;
  if (!now || now.you.driving || now.you.role === "view") return;
  const name = now.state === "human" ? person(now.holder ?? "") : say("agentName");
  if (now.state === "human") panel.say(say("dropped", { name }));
  else if (now.state === "frozen") panel.say(say("frozen"));
  else if (now.take !== "implicit") panel.say(say("noControl"));
}

/** What the page keeps for itself of the keyboard, even while the desktop has the focus. @param {KeyboardEvent} event */
function shortcut(event) {
  if (!event.ctrlKey || !event.altKey || !["Enter", "Backspace", "p"].includes(event.key)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.key === "p") return void privacy.toggle().catch((error) => panel.say(say("failed", { reason: error.message })));
  const first = panel.first();
  /** @type {HTMLElement | null} */ (document.querySelector("#actions button"))?.focus();
  if (event.key === "Enter" && first) panel.run(first);
}

new ResizeObserver(() => requestAnimationFrame(point)).observe(screen); // the picture is fitted by then
find("#notify").hidden = globalThis.Notification?.permission !== "default";
find("#notify").onclick = async () => {
  find("#notify").hidden = (await Notification.requestPermission()) !== "default";
};
screen.addEventListener("pointerdown", clicked, { capture: true });
addEventListener("keydown", shortcut, { capture: true });
find("#keyboard").onclick = () => shown.keyboard() || typed.focus();
find("#sound").onclick = () => {
  shown.sound = !shown.sound;
  find("#sound").setAttribute("aria-pressed", String(shown.sound));
};
find("#microphone").onclick = () => speak(!shown.microphone);
find("#fit").onclick = () => {
  shown.fits = !shown.fits;
  find("#fit").setAttribute("aria-pressed", String(shown.fits));
};
find("#trackpad").onclick = () => trackpad(!shown.trackpad);
typed.addEventListener("input", () => {
  shown.type(typed.value);
  typed.value = "";
  typed.focus();
});
find("#type").onclick = () => {
  find("#clipboard").hidePopover();
  shown.type(text.value);
};
new Drop({
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
