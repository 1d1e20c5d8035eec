// The home page: is everything ready, what is this computer, what can be opened.

import { call } from "/static/api.js";
import { Rows } from "/static/home/rows.js";
import { Snippets, texts } from "/static/home/snippets.js";
import { Thumbnail } from "/static/home/thumbnail.js";

const STARTING_MS = 1000;
const READY_MS = 15000;

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const readiness = find("#readiness");
const states = new Rows(find("#states"));
const checks = new Rows(find("#checks"));
const thumbnail = new Thumbnail(find("#desktop img"));

/** Ask whether everything is ready; again soon while it is not, and only while somebody looks. */
async function watchReadiness() {
  const ready = document.hidden || (await showReadiness());
  setTimeout(watchReadiness, ready ? READY_MS : STARTING_MS);
}

async function showReadiness() {
  try {
    const { status, components } = await call("GET", "/readyz", { whole: true, accepted: [503] });
    show(readiness, status === "ready" ? "Ready" : "Starting", status === "ready" ? "good" : "waiting");
    find("#desktop").hidden = !components?.vnc;
    thumbnail.shown = Boolean(components?.vnc);
    states.show(Object.entries(components ?? {}).map(([name, state]) => ({ name, state, tone: state === "ready" ? "good" : "bad" })));
    return status === "ready";
  } catch {
    show(readiness, "Not answering", "bad");
    return false;
  }
}

/**
 * @param {HTMLElement} shown
 * @param {string} text
 * @param {string} tone
 */
function show(shown, text, tone) {
  shown.textContent = text;
  shown.className = `state ${tone}`;
}

async function showMachine() {
  const { version, home_dir: home, workspace, detail } = await call("GET", "/v1/sandbox", { whole: true });
  const { os, os_version: release, arch, user, timezone } = detail.system;
  const facts = { System: `${os} ${release}, ${arch}`, User: user, Home: home, Workspace: workspace, "Time zone": timezone, Version: version };
  find("#facts").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [text("dt", name), text("dd", value)]));
}

/**
 * @param {string} name
 * @param {string} content
 */
function text(name, content) {
  const made = document.createElement(name);
  made.textContent = content;
  return made;
}

async function showGuarantees() {
  /** @type {{checks: {name: string, status: "holds" | "lost" | "unknown", detail: string, hint: string | null}[]}} */
  const { checks: found } = await call("GET", "/v1/doctor");
  const tones = /** @type {const} */ ({ holds: "good", lost: "waiting", unknown: "" });
  checks.show(found.map(({ name, status, detail, hint }) => ({ name, state: status, tone: tones[status], detail, hint })));
}

async function showCaller() {
  const { caller } = await call("GET", "/auth", { whole: true });
  find("#caller").textContent = caller.split("#")[0];
  find("#sign-out").hidden = caller.split("#")[0] === "anyone";
}

/** @type {HTMLFormElement} */ (find("#preview")).addEventListener("submit", (event) => {
  event.preventDefault();
  open(`/proxy/${Number(/** @type {HTMLInputElement} */ (find("#port")).value)}/`, "_blank", "noopener");
});

find("#sign-out").addEventListener("click", async () => {
  await call("DELETE", "/v1/session");
  location.reload();
});

new Snippets(find("#snippets"), texts(location.origin));
watchReadiness();
showCaller().catch(() => {});
showMachine().catch((error) => find("#facts").replaceChildren(text("dd", error.message)));
showGuarantees().catch((error) => checks.fail(error.message));
