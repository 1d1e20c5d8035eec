// The terminal page: one shell session on the screen, and a list of the others. All are shared with the agent.

import { call } from "/static/api.js";
import { TerminalConnection } from "/static/terminal/connection.js";
import { FitAddon } from "/static/vendor/addon-fit.mjs";
import { Terminal } from "/static/vendor/xterm.mjs";

const LIST_MS = 2000;
const STATES = {
  connecting: ["Connecting…", "waiting"],
  connected: ["Connected", "good"],
  lost: ["Connection lost, trying again", "waiting"],
  ended: ["Session ended", "bad"],
  refused: ["No new session", "bad"],
};

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const screen = find("#screen");
/** @type {HTMLSelectElement} */
const sessions = find("#sessions");

const terminal = new Terminal({
  cursorBlink: true,
  scrollback: 10000,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
  theme: { background: "#101316", foreground: "#e6e9e7", cursor: "#52c7a6", selectionBackground: "#2f4a44" },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(screen);

/** @type {TerminalConnection} */
let connection;
/** The last size, requested or received, so that its echo requests nothing. */
let size = "";
/** Whether the session's own size and screen have arrived; before that there is nothing to fit. */
let drawn = false;

/** @param {string} id a session's id; empty for a new session */
function show(id) {
  connection?.close();
  terminal.reset();
  size = "";
  connection = new TerminalConnection(id, { session: remember, output: draw, resize: adopt, state: showState });
  terminal.focus();
}

/** @param {string} text */
function draw(text) {
  terminal.write(text);
  if (drawn) return;
  drawn = true;
  fitWindow();
}

/** @param {string} id */
function remember(id) {
  const address = new URL(location.href);
  address.searchParams.set("session_id", id);
  history.replaceState(null, "", address);
  listSessions();
}

/**
 * Take the size that another viewer chose: a session has one size.
 * @param {number} columns
 * @param {number} rows
 */
function adopt(columns, rows) {
  size = `${columns}x${rows}`;
  terminal.resize(columns, rows);
}

/** Request the size that fits this window. */
function fitWindow() {
  const fitting = fit.proposeDimensions();
  if (!drawn || !fitting || Number.isNaN(fitting.cols) || size === `${fitting.cols}x${fitting.rows}`) return;
  adopt(fitting.cols, fitting.rows);
  connection.resize(fitting.cols, fitting.rows);
}

/**
 * @param {keyof typeof STATES} state
 * @param {string} [reason]
 */
function showState(state, reason) {
  const [text, tone] = STATES[state];
  const shown = find("#connection");
  shown.textContent = text;
  shown.className = `state ${tone}`;
  if (reason) terminal.write(`\r\n\x1b[33m${reason}\x1b[0m\r\n`);
  if (state === "connected") drawn = false;
}

/** List the sessions, once it is known which is shown; before that the first would look selected. */
async function listSessions() {
  if (!connection.session) return;
  const { sessions: found } = await call("GET", "/v1/shell/sessions");
  const ids = Object.keys(found).sort((one, other) => found[one].created_at.localeCompare(found[other].created_at));
  sessions.replaceChildren(...ids.map((id) => option(id, found[id])));
  find("#running").textContent = found[connection.session]?.current_command ?? "";
}

/**
 * @param {string} id
 * @param {{working_dir: string, status: string}} session
 */
function option(id, session) {
  const made = document.createElement("option");
  made.value = id;
  made.selected = id === connection.session;
  made.textContent = `${id.slice(0, 8)}  ${session.working_dir}${session.status === "running" ? "  ●" : ""}`;
  return made;
}

/** Refresh the list while the page is visible; a failed request leaves the last list. */
async function watchSessions() {
  if (!document.hidden && document.activeElement !== sessions) await listSessions().catch(() => {});
  setTimeout(watchSessions, LIST_MS);
}

terminal.onData((/** @type {string} */ text) => connection.type(text));
new ResizeObserver(fitWindow).observe(screen);
sessions.onchange = () => show(sessions.value);
find("#open").onclick = () => show("");

show(new URL(location.href).searchParams.get("session_id") ?? "");
watchSessions();
