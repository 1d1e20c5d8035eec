// The flight recorder: who did what, when, and what the screen showed.

import { call } from "/static/api.js";
import { Films } from "./film.js";
import { Lanes } from "./lanes.js";
import { History, told } from "./record.js";
import { language, moment, say } from "./words.js";

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
document.title = `${say("title")} · Tandem`;
for (const [id, key] of /** @type {const} */ ([
  ["title", "title"],
  ["film-title", "film"],
  ["events-title", "events"],
  ["lanes-title", "lanes"],
  ["kinds-title", "kinds"],
  ["dark", "dark"],
  ["play", "play"],
  ["pin", "pin"],
  ["check", "check"],
  ["export", "export"],
  ["state", "loading"],
])) {
  find(`#${id}`).textContent = say(key);
}
slider.setAttribute("aria-label", say("slider"));

const lanes = new Lanes(find("#lanes"), seek);
const films = new Films(video, (at) => point(at), (filmed) => (find("#dark").hidden = filmed));
const record = new History(drawSoon, (state) => tell(say(state), state === "live" ? "good" : "bad"));

/** @param {string} text @param {"good" | "waiting" | "bad"} look */
function tell(text, look) {
  find("#state").textContent = text;
  find("#state").className = `state ${look}`;
}

/** Draw at most once a frame, however much is told. */
function drawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function draw() {
  lanes.show(record.entries, films.all);
  const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.n;
  list.replaceChildren(...record.entries.toReversed().map(row));
  if (!record.entries.length) list.textContent = say("none");
  if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`[data-n="${focused}"]`))?.focus();
  point(now);
}

/** @param {import("./record.js").Entry} entry */
function row(entry) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  button.dataset.n = String(entry.n);
  button.dataset.actor = entry.actor.type;
  button.dataset.at = String(entry.at);
  const failed = entry.operation && entry.outcome !== "ok" ? ` · ${entry.outcome}` : "";
  if (failed) button.className = "failed";
  button.append(part("time", "", moment(entry.at)), part("span", "what", told(entry)));
  button.append(part("span", "who", `${say(entry.actor.type)} · ${entry.actor.name}${failed}`));
  button.title = told(entry);
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

/** Go to a moment. @param {number} at */
function seek(at) {
  films.seek(at);
  point(at);
}

/** Show where we are. @param {number} at */
function point(at) {
  now = at;
  lanes.point(at);
  slider.value = String(Math.round(1000 * lanes.part(at)));
  slider.setAttribute("aria-valuetext", moment(at));
  find("#clock").textContent = moment(at);
  const current = record.entries.findLast((entry) => entry.at <= at + 0.001);
  list.querySelector("[aria-current]")?.removeAttribute("aria-current");
  if (current) list.querySelector(`[data-n="${current.n}"]`)?.setAttribute("aria-current", "true");
}

/** Up and down move in the list. @param {KeyboardEvent} event */
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
  record.show(chosen.filter(({ checked }) => checked).map(({ value }) => value));
}

/** @param {() => Promise<void>} act */
async function tried(act) {
  try {
    await act();
  } catch (error) {
    tell(say("failed", { reason: /** @type {Error} */ (error).message }), "bad");
  }
}

for (const [kind, shown] of KINDS) {
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "checkbox", value: kind, checked: shown });
  box.onchange = filter;
  label.append(box, ` ${say(kind)}`);
  find("#kinds").append(label);
}
list.addEventListener("keydown", step);
slider.addEventListener("input", () => seek(lanes.at(Number(slider.value) / 1000)));
find("#play").onclick = () => (video.paused ? video.play().catch(() => seek(now)) : video.pause());
video.addEventListener("play", () => (find("#play").textContent = say("pause")));
video.addEventListener("pause", () => (find("#play").textContent = say("play")));
find("#pin").onclick = () =>
  tried(async () => {
    await call("POST", "/v1/recorder/pin", { body: { until: now } });
    tell(say("pinned", { time: moment(now) }), "good");
    await films.load();
  });
find("#check").onclick = () =>
  tried(async () => {
    const { ok, entries, broken } = await call("GET", "/v1/recorder/verify");
    tell(ok ? say("whole", { count: entries }) : say("broken", { why: broken }), ok ? "good" : "bad");
  });

filter();
await tried(() => films.load());
seek(now);
drawSoon();
setInterval(() => tried(async () => {
  await films.load();
  drawSoon();
}), REFRESH_MS);
