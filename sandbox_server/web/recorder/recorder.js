// The page at /recorder: the audit log in sentences, its timeline, and the recordings of the screen.

import "/static/checkpoints/checkpoints.js";
import { call } from "/static/api.js";
import "./connections.js";
import { controlSpans, privateSpans, spanAt } from "./control_spans.js";
import { element } from "/static/checkpoints/elements.js";
import { EventList } from "./event_list.js";
import { EventLog } from "./event_log.js";
import { askToGoBack, checkpointMarks, openCheckpoint } from "./going_back.js";
import { linkTo, momentOf } from "./moment_link.js";
import { Recordings } from "./recordings.js";
import { beginning, isActing, isNobodys, isViewer, rowsOf } from "./rows.js";
import { whoOf } from "./sentences.js";
import { language } from "/static/strings.js";
import { moment, translate, zone } from "./strings.js";
import { Timeline } from "./timeline.js";

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const KINDS = /** @type {const} */ ([
  ["command", true],
  ["file", true],
  ["input", true],
  ["navigation", true],
  ["control", true],
  ["handoff", true],
  ["receipt", true],
  ["checkpoint", true],
  ["access", true],
  ["egress", true],
  ["viewer", true],
  ["video", true],
  ["call", false],
  ["read", false],
  ["log", false],
]);
const SPEEDS = [1, 2, 4];
const REFRESH_MS = 10000;
/** How long a message is shown. */
const MESSAGE_MS = 10_000;
/** Seconds after the last event that the timeline shows, at most. */
const TAIL = 60;

const slider = /** @type {HTMLInputElement} */ (find("#slider"));
/** @type {import("./control_spans.js").PrivateSpan[]} */
let hidden = [];
/** @type {string | null} */
let me = null;
/** @type {import("./timeline.js").Mark[]} */
let checkpoints = [];
let now = Date.now() / 1000;
let waiting = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let messageTimer;
/** Whether the moment was sought, and the list is not there yet. */
let sought = true;

document.documentElement.lang = language;
document.title = `${translate("title")} · Tandem`;
for (const [id, key] of /** @type {const} */ ([
  ["title", "title"],
  ["screen-title", "screen"],
  ["events-title", "events"],
  ["timeline-title", "timeline"],
  ["kinds-title", "kinds"],
  ["kinds-legend", "kinds"],
  ["speed-title", "speed"],
  ["skip-title", "skip"],
  ["unrecorded", "unrecorded"],
  ["play", "play"],
  ["link", "copyLink"],
  ["pin", "pin"],
  ["check", "check"],
  ["export", "export"],
  ["undo", "checkpoint"],
  ["state", "loading"],
])) {
  find(`#${id}`).textContent = translate(key);
}
find("#times").textContent = translate("times", { zone: zone() });
slider.setAttribute("aria-label", translate("slider"));

const panel = /** @type {import("/static/checkpoints/checkpoints.js").TandemCheckpoints} */ (find("#checkpoints"));
const timeline = new Timeline(find("#timeline"), seek, (id) => openCheckpoint(panel, id));
const recordings = new Recordings(find("#video"), {
  time: (at) => showMoment(at),
  seek: (recorded) => (find("#unrecorded").hidden = recorded),
  state: (playing) => (find("#play").textContent = translate(playing ? "pause" : "play")),
});
const list = new EventList(find("#list"), {
  seek,
  read: (n) => log.read(n),
  play,
  link: (at) => void copyLink(at),
  mayGoBack: () => panel.rights.make,
  goBack: (row, place) => void askToGoBack(panel, row, place),
  earlier: () => void log.earlier(),
  later: () => void log.later(),
});
const log = new EventLog(drawSoon, (state) => write("#state", translate(state), state === "live" ? "good" : state === "past" ? "waiting" : "bad"));

/** Say what became of a button that was pressed, for a while. @param {string} text @param {"good" | "bad"} look */
function showMessage(text, look) {
  write("#message", text, look);
  clearTimeout(messageTimer);
  messageTimer = setTimeout(() => write("#message", "", look), MESSAGE_MS);
}

/** @param {string} place @param {string} text @param {"good" | "waiting" | "bad"} look */
function write(place, text, look) {
  find(place).textContent = text;
  find(place).className = `state ${look}`;
}

/** Draw at most once a frame, however many events arrive. */
function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function draw() {
  const shown = chosen();
  const entries = log.entries.filter((entry) => shown.has(isViewer(entry) ? "viewer" : entry.kind) && !isNobodys(entry));
  const until = edge();
  hidden = privateSpans(log.entries, until);
  const acts = log.entries.filter(isActing).map((entry) => /** @type {[number, number]} */ ([beginning(entry), entry.at])).sort(([one], [other]) => one - other);
  recordings.setActs(log.hasEarlier && acts.length ? [[0, acts[0][0]], ...acts] : acts);
  timeline.show(entries, recordings.all, { drives: controlSpans(log.entries, until), hidden, me, until, checkpoints });
  list.me = me;
  list.show(rowsOf(entries), log);
  showMoment(now);
}

/** The right edge of the timeline: now, or a while after the last that is known. */
function edge() {
  const last = Math.max(log.entries.at(-1)?.at ?? 0, recordings.all.at(-1)?.end ?? 0);
  const present = Date.now() / 1000;
  return last ? Math.min(present, last + TAIL) : present;
}

/** Seek a moment. @param {number} at */
function seek(at) {
  sought = true;
  recordings.seek(at);
  showMoment(at);
}

/** @param {number} at */
function play(at) {
  seek(at);
  recordings.play();
}

/** Mark a moment. @param {number} at */
function showMoment(at) {
  now = at;
  timeline.point(at);
  slider.value = String(Math.round(1000 * Math.min(1, Math.max(0, timeline.part(at)))));
  slider.setAttribute("aria-valuetext", moment(at));
  find("#clock").textContent = moment(at);
  const span = spanAt(hidden, at);
  find("#covered").hidden = !span;
  if (span) find("#covered").textContent = translate("covered", { who: whoOf({ type: "person", name: span.who }, me) });
  if (list.point(at, recordings.playing || sought)) sought = false;
}

/** @param {number} at */
async function copyLink(at) {
  const link = linkTo(location.href, at);
  history.replaceState(null, "", link);
  const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
  showMessage(translate(copied ? "copied" : "inAddress", { time: moment(at) }), "good");
}

/** Mark the checkpoints that there are; where there is no box, there are none. */
async function markCheckpoints() {
  checkpoints = await checkpointMarks().catch(() => []);
  drawSoon();
}

function chosen() {
  const boxes = [...document.querySelectorAll("#kinds input")].map((input) => /** @type {HTMLInputElement} */ (input));
  return new Set(boxes.filter(({ checked }) => checked).map(({ value }) => value));
}

/** @param {number | null} [at] */
const load = (at = null) => log.show([...chosen()].filter((kind) => kind !== "viewer"), at);

/** @param {() => Promise<void>} act */
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    showMessage(translate("failed", { reason: /** @type {Error} */ (error).message }), "bad");
  }
}

/** Show the moment of the fragment, if it names one; whether it does. */
async function showLinked() {
  const at = momentOf(location.hash);
  if (at === null) return false;
  await load(at);
  seek(at);
  return true;
}

for (const [kind, shown] of KINDS) {
  const label = element("label", "check");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", value: kind, checked: shown });
  box.onchange = () => load(log.hasLater ? now : null);
  label.append(box, ` ${translate(kind)}`);
  find("#kinds").append(label);
}
for (const speed of SPEEDS) {
  const label = element("label", "choice");
  const box = Object.assign(document.createElement("input"), { type: "radio", name: "speed", value: String(speed), checked: speed === 1 });
  box.onchange = () => (recordings.speed = speed);
  label.append(box, `${speed}×`);
  find("#speed").append(label);
}
slider.addEventListener("input", () => seek(timeline.at(Number(slider.value) / 1000)));
find("#play").onclick = () => (recordings.playing ? recordings.pause() : recordings.play());
find("#skip").onchange = () => (recordings.skip = /** @type {HTMLInputElement} */ (find("#skip")).checked);
find("#link").onclick = () => copyLink(now);
find("#pin").onclick = () =>
  attempt(async () => {
    await call("POST", "/v1/recorder/pin", { body: { until: now } });
    showMessage(translate("pinned", { time: moment(now) }), "good");
    await recordings.load();
  });
find("#check").onclick = () =>
  attempt(async () => {
    const { ok, entries, broken } = await call("GET", "/v1/recorder/verify");
    showMessage(ok ? translate("whole", { count: entries }) : translate("broken", { why: broken }), ok ? "good" : "bad");
  });
addEventListener("hashchange", showLinked);
find("tandem-bar").addEventListener("control", (event) => {
  if (/** @type {CustomEvent} */ (event).detail.kind.startsWith("checkpoint:")) void markCheckpoints();
});

await attempt(() => recordings.load());
if (!(await showLinked())) {
  await load();
  const last = recordings.all.at(-1);
  seek(last ? last.start : (log.entries.at(-1)?.at ?? now));
}
void markCheckpoints();
await attempt(async () => {
  const { you } = await call("GET", "/v1/control");
  me = you.person ? you.name : null;
});
drawSoon();
setInterval(() => attempt(async () => {
  await recordings.load();
  drawSoon();
}), REFRESH_MS);
