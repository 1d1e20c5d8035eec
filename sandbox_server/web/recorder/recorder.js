// The page at /recorder: the audit log, its timeline, and the recordings of the screen.

import { call } from "/static/api.js";
import { Recordings } from "./recordings.js";
import { Timeline } from "./timeline.js";
import { EventLog, summary } from "./event_log.js";
import { language, moment, translate } from "./strings.js";

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
  ["call", false],
  ["read", false],
  ["log", false],
]);
const REFRESH_MS = 10000;

const slider = /** @type {HTMLInputElement} */ (find("#slider"));
const video = /** @type {HTMLVideoElement} */ (find("#video"));
const list = find("#list");
let now = Date.now() / 1000;
let waiting = false;

document.documentElement.lang = language;
document.title = `${translate("title")} · Tandem`;
for (const [id, key] of /** @type {const} */ ([
  ["title", "title"],
  ["screen-title", "screen"],
  ["events-title", "events"],
  ["timeline-title", "timeline"],
  ["kinds-title", "kinds"],
  ["unrecorded", "unrecorded"],
  ["play", "play"],
  ["pin", "pin"],
  ["check", "check"],
  ["export", "export"],
  ["state", "loading"],
])) {
  find(`#${id}`).textContent = translate(key);
}
slider.setAttribute("aria-label", translate("slider"));

const timeline = new Timeline(find("#timeline"), seek);
const recordings = new Recordings(video, (at) => showMoment(at), (recorded) => (find("#unrecorded").hidden = recorded));
const log = new EventLog(drawSoon, (state) => showState(translate(state), state === "live" ? "good" : "bad"));

/** @param {string} text @param {"good" | "waiting" | "bad"} look */
function showState(text, look) {
  find("#state").textContent = text;
  find("#state").className = `state ${look}`;
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
  timeline.show(log.entries, recordings.all);
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.n;
  list.replaceChildren(...log.entries.toReversed().map(row));
  if (!log.entries.length) list.textContent = translate("none");
  if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`[data-n="${focused}"]`))?.focus();
  showMoment(now);
}

/** @param {import("./event_log.js").Entry} entry */
function row(entry) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.dataset.n = String(entry.n);
  button.dataset.actor = entry.actor.type;
  button.dataset.at = String(entry.at);
  const failed = entry.operation && entry.outcome !== "ok" ? ` · ${entry.outcome}` : "";
  if (failed) button.className = "failed";
  button.append(part("time", "", moment(entry.at)), part("span", "what", summary(entry)));
  button.append(part("span", "who", `${translate(entry.actor.type)} · ${entry.actor.name}${failed}`));
  button.title = summary(entry);
  button.onclick = () => seek(entry.at - (entry.ms ?? 0) / 1000);
  item.append(button);
  return item;
}

/** @param {string} tag @param {string} look @param {string} text */
function part(tag, look, text) {
  const element = document.createElement(tag);
  element.className = look;
  element.textContent = text;
  return element;
}

/** Seek a moment. @param {number} at */
function seek(at) {
  recordings.seek(at);
  showMoment(at);
}

/** Mark a moment. @param {number} at */
function showMoment(at) {
  now = at;
  timeline.point(at);
  slider.value = String(Math.round(1000 * timeline.part(at)));
  slider.setAttribute("aria-valuetext", moment(at));
  find("#clock").textContent = moment(at);
  const current = log.entries.findLast((entry) => entry.at <= at + 0.001);
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (current) list.querySelector(`[data-n="${current.n}"]`)?.setAttribute("aria-current", "true");
}

/** The arrow keys move in the list. @param {KeyboardEvent} event */
function step(event) {
  const way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  const item = /** @type {HTMLElement} */ (event.target).closest("li");
  const next = way && item && /** @type {any} */ (item)[way]?.querySelector("button");
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.click();
}

function filter() {
  const chosen = [...document.querySelectorAll("#kinds input")].map((input) => /** @type {HTMLInputElement} */ (input));
  log.show(chosen.filter(({ checked }) => checked).map(({ value }) => value));
}

/** @param {() => Promise<void>} act */
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    showState(translate("failed", { reason: /** @type {Error} */ (error).message }), "bad");
  }
}

for (const [kind, shown] of KINDS) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", value: kind, checked: shown });
  box.onchange = filter;
  label.append(box, ` ${translate(kind)}`);
  find("#kinds").append(label);
}
list.addEventListener("keydown", step);
slider.addEventListener("input", () => seek(timeline.at(Number(slider.value) / 1000)));
find("#play").onclick = () => (video.paused ? video.play().catch(() => seek(now)) : video.pause());
video.addEventListener("play", () => (find("#play").textContent = translate("pause")));
video.addEventListener("pause", () => (find("#play").textContent = translate("play")));
find("#pin").onclick = () =>
  attempt(async () => {
    await call("POST", "/v1/recorder/pin", { body: { until: now } });
    showState(translate("pinned", { time: moment(now) }), "good");
    await recordings.load();
  });
find("#check").onclick = () =>
  attempt(async () => {
    const { ok, entries, broken } = await call("GET", "/v1/recorder/verify");
    showState(ok ? translate("whole", { count: entries }) : translate("broken", { why: broken }), ok ? "good" : "bad");
  });

filter();
await attempt(() => recordings.load());
seek(now);
drawSoon();
setInterval(() => attempt(async () => {
  await recordings.load();
  drawSoon();
}), REFRESH_MS);
