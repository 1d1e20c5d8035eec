// The home page at /: readiness, panes to open, and what this computer is.

import { call } from "/static/api.js";
import { Panes } from "/static/home/panes.js";
import { PortList } from "/static/home/port_list.js";
import { StatusList } from "/static/home/status_list.js";
import { CodeTabs } from "/static/home/code_tabs.js";
import { connectSnippets } from "/static/home/snippets.js";
import { Thumbnail } from "/static/home/thumbnail.js";

const STARTING_MS = 1000;
const READY_MS = 15000;

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const readiness = find("#readiness");
const states = new StatusList(find("#states"));
const checks = new StatusList(find("#checks"));
const servers = new StatusList(find("#servers"));
const panes = new Panes(find("#panes"), find("#layouts"));
const { browser, editor, notebook, terminal } = panes.byName;
const thumbnail = new Thumbnail(picture());

/** Poll readiness: often until everything is ready, and only while the page is visible. */
async function watchReadiness() {
  const ready = document.hidden || (await showReadiness());
  setTimeout(watchReadiness, ready ? READY_MS : STARTING_MS);
}

async function showReadiness() {
  try {
    const { status, components } = await call("GET", "/readyz", { whole: true, accepted: [503] });
    show(readiness, status === "ready" ? "Ready" : "Starting", status === "ready" ? "good" : "waiting");
    showDesktop(components ?? {});
    states.show(Object.entries(components ?? {}).map(([name, state]) => ({ name, state, tone: state === "ready" ? "good" : "bad" })));
    return status === "ready";
  } catch {
    show(readiness, "Not answering", "bad");
    return false;
  }
}

/** @param {Record<string, string>} components */
function showDesktop({ stream, vnc }) {
  browser.address = stream ? "/stream/" : "/vnc/index.html";
  browser.allow(Boolean(stream || vnc), "No desktop here");
  thumbnail.shown = Boolean(stream || vnc);
}

/** Make the image element of the desktop's pane. */
function picture() {
  const made = Object.assign(document.createElement("img"), { alt: "The desktop as it is now", hidden: true });
  browser.card.querySelector("header")?.after(made);
  return made;
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

/** Show which editors this image has. */
async function showEditors() {
  /** @type {{editors: {name: string, installed: boolean}[]}} */
  const { editors } = await call("GET", "/v1/editors");
  /** @type {[typeof editor, string][]} */
  const shown = [
    [editor, "code-server"],
    [notebook, "jupyter"],
  ];
  for (const [pane, name] of shown) {
    const found = editors.find((each) => each.name === name);
    pane.allow(Boolean(found?.installed), found ? "Not installed" : "Left out");
  }
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

async function showServers() {
  /** @type {{name: string, state: string, tools: number | null, reason: string | null}[]} */
  const found = await call("GET", "/v1/mcp/status");
  const tones = /** @type {Record<string, "good" | "waiting" | "bad" | "">} */ ({ running: "good", starting: "waiting", failed: "bad" });
  const words = /** @type {Record<string, string>} */ ({ stopped: "ready when needed" });
  const rows = found.map(({ name, state, reason }) => ({ name, state: words[state] ?? state, tone: tones[state] ?? "", hint: reason }));
  if (rows.length) servers.show(rows);
  else servers.fail("None but the sandbox's own");
}

async function showCaller() {
  const { caller, scopes } = await call("GET", "/auth", { whole: true });
  terminal.allow(scopes.split(" ").includes("shell"), "Not for you");
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

new CodeTabs(find("#snippets"), connectSnippets(location.origin));
new PortList(find("#ports")).watch();
showServers().catch((error) => servers.fail(error.message));
const known = [
  watchReadiness(),
  showCaller().catch(() => {}),
  showEditors().catch(() => {}),
  showMachine().catch((error) => find("#facts").replaceChildren(text("dd", error.message))),
];
Promise.all(known).then(() => panes.restore());
showGuarantees().catch((error) => checks.fail(error.message));
