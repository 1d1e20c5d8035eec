// The terminal page: one shell session on the screen, and a list of the others. All are shared with the agent.

import { call } from "/static/api.js";
import { FitAddon } from "/static/vendor/addon-fit.mjs";
import { Terminal } from "/static/vendor/xterm.mjs";
import { TerminalConnection } from "/static/terminal/connection.js";
import { EmptyState } from "/static/terminal/empty_state.js";
import { agentElsewhere, command, entries, lastInput } from "/static/terminal/session_list.js";
import { fill } from "/static/strings.js";
import { translate } from "/static/terminal/strings.js";

/** @typedef {import("./session_list.js").Sessions} Sessions */
/** @typedef {import("./connection.js").TerminalState} TerminalState */

const LIST_MS = 2000;
const NOTICE_MS = 8000;
/** How long after its last key the agent is said to type. */
const TYPING_MS = 20000;
/** @type {Record<TerminalState, "waiting" | "good" | "bad">} */
const TONES = { connecting: "waiting", connected: "good", lost: "waiting", blocked: "bad", none: "waiting", ended: "bad", full: "bad", held: "bad" };

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

document.title = `${translate("terminal")} · Tandem`;
fill(document, translate);

const screen = find("#screen");
/** @type {HTMLSelectElement} */
const select = find("#sessions");
/** @type {HTMLButtonElement} */
const closing = find("#close");
/** @type {HTMLDialogElement} */
const confirmation = find("#confirm");
const empty = new EmptyState(find("#empty"), { open: (id) => show(id), close: closeSession, create: () => show("", true) });

const terminal = new Terminal({
  cursorBlink: true,
  scrollback: 10000,
  fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--mono"),
  minimumContrastRatio: 4.5, // whatever colours a program writes in
  theme: { background: "#101316", foreground: "#e6e9e7", cursor: "#52c7a6", selectionBackground: "#2f4a44" },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(screen);

/** @type {TerminalConnection | undefined} */
let connection;
/** The last size, requested or received, so that its echo requests nothing. */
let size = "";
/** Whether the session's own size and screen have arrived; before that there is nothing to fit. */
let drawn = false;
/** The sessions as they were listed last. @type {Sessions} */
let sessions = {};
let home = "";
/** Inputs until then are known to whoever looks; undefined before the first list. @type {string | undefined} */
let known;
/** The agent's last input elsewhere, and when it was seen. */
let typing = { at: "", seen: 0 };
let noticeTimer = 0;

/**
 * @param {string} id a session's id; empty for the one that was used last, or for a new one
 * @param {boolean} [create] whether a session is made where there is none to show
 */
function show(id, create = false) {
  connection?.close();
  terminal.reset();
  size = "";
  drawn = false;
  if (known !== undefined) known = lastInput(sessions);
  empty.hide();
  find("#elsewhere").hidden = true;
  find("#notice").hidden = true;
  connection = new TerminalConnection(id, create, { session: remember, output: draw, resize: adopt, state: showState, refused: notify });
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
  listSessions().catch(() => {});
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
  connection?.resize(fitting.cols, fitting.rows);
}

/** @param {TerminalState} state */
function showState(state) {
  const shown = find("#connection");
  shown.textContent = translate(state);
  shown.className = `state ${TONES[state]}`;
  closing.disabled = state !== "connected";
  find("#blocked").hidden = state !== "blocked";
  if (state === "connected") drawn = false;
  if (state === "none" || state === "ended" || state === "full" || state === "held") leave(state);
}

/** Show that there is no session on the screen, and which there are. @param {"none" | "ended" | "full" | "held"} reason */
function leave(reason) {
  connection = undefined;
  terminal.reset();
  find("#notice").hidden = true;
  const address = new URL(location.href);
  address.searchParams.delete("session_id");
  history.replaceState(null, "", address);
  empty.show(reason);
  listSessions().catch(() => {});
}

/** @param {string} text */
function notify(text) {
  const place = find("#notice");
  place.textContent = text;
  place.hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (place.hidden = true), NOTICE_MS);
}

/** Close a session, after a question where something runs in it. @param {string} id */
async function closeSession(id) {
  const session = sessions[id];
  if (session?.alive && session.status === "running" && !(await isConfirmed(command(session)))) return;
  const shown = connection?.session === id;
  try {
    await call("DELETE", `/v1/shell/sessions/${encodeURIComponent(id)}`);
    if (shown) show("");
    else await listSessions();
  } catch (error) {
    notify(translate("failed", { reason: /** @type {Error} */ (error).message }));
  }
}

/** @param {string} running @returns {Promise<boolean>} */
function isConfirmed(running) {
  /** @type {HTMLElement} */ (confirmation.querySelector("p")).textContent = running ? translate("closeText", { command: running }) : translate("closeBusy");
  confirmation.returnValue = "cancel";
  confirmation.showModal();
  return new Promise((resolve) => confirmation.addEventListener("close", () => resolve(confirmation.returnValue === "close"), { once: true }));
}

/** List the sessions. A list that comes while a choice is being made changes nothing on the screen. */
async function listSessions() {
  ({ sessions } = await call("GET", "/v1/shell/sessions"));
  known ??= lastInput(sessions);
  const found = entries(sessions, home);
  empty.list(found);
  if (empty.reason === "none" && found.length) show(""); // the agent has opened one
  if (document.activeElement !== select) drawOptions(found);
  showElsewhere(found);
}

/** @param {{id: string, title: string}[]} found */
function drawOptions(found) {
  const shown = connection?.session;
  select.replaceChildren(...found.map(({ id, title }) => new Option(title, id, false, id === shown)));
  select.hidden = !found.length;
  if (!shown) select.selectedIndex = -1;
  select.title = select.selectedOptions[0]?.textContent ?? "";
}

/** Tell where the agent types, if that is not what is shown. @param {{id: string, title: string}[]} found */
function showElsewhere(found) {
  const id = connection?.session ? agentElsewhere(sessions, connection.session, known ?? "") : undefined;
  const entry = found.find((each) => each.id === id);
  const at = (id && sessions[id].last_input_at) ?? "";
  if (at !== typing.at) typing = { at, seen: Date.now() };
  const place = find("#elsewhere");
  place.hidden = !entry || Date.now() - typing.seen > TYPING_MS;
  place.dataset.session = id ?? "";
  if (entry) /** @type {HTMLElement} */ (place.querySelector("span")).textContent = translate("elsewhere", { session: entry.title });
}

/** Refresh the list while the page is visible; a failed request leaves the last list. */
async function watchSessions() {
  if (!document.hidden) await listSessions().catch(() => {});
  setTimeout(watchSessions, LIST_MS);
}

terminal.onData((/** @type {string} */ text) => connection?.type(text));
new ResizeObserver(fitWindow).observe(screen);
select.onchange = () => show(select.value);
find("#open").onclick = () => show("", true);
closing.onclick = () => connection?.session && closeSession(connection.session);
find("#follow").onclick = () => show(find("#elsewhere").dataset.session ?? "");
find("#dismiss").onclick = () => {
  known = lastInput(sessions);
  find("#elsewhere").hidden = true;
  terminal.focus();
};

const asked = new URL(location.href).searchParams.get("session_id") ?? "";
show(asked, Boolean(asked));
call("GET", "/v1/sandbox", { whole: true }).then((sandbox) => (home = sandbox.home_dir), () => {});
watchSessions();
