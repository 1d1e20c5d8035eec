// The home page at /: the state of the work, and below it how to connect an agent and what this computer is.

import "/static/bar/bar.js";
import { call } from "/static/api.js";
import { driverText } from "/static/bar/driver.js";
import { fill, person } from "/static/strings.js";
import { element } from "/static/home/elements.js";
import { Panes } from "/static/home/panes.js";
import { PortList } from "/static/home/port_list.js";
import { translate } from "/static/home/strings.js";
import { loadStyle } from "/static/style_sheet.js";
import { Thumbnail } from "/static/home/thumbnail.js";

/** @typedef {import("/static/bar/lease.js").Control} Control */

const STARTING_MS = 1000;
const READY_MS = 15000;

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

fill(document, translate);

const bar = /** @type {import("/static/bar/bar.js").TandemBar} */ (find("tandem-bar"));
const connect = /** @type {HTMLDetailsElement} */ (find("#connect"));
const panes = new Panes([...document.querySelectorAll("[data-pane]")].map((card) => /** @type {HTMLElement} */ (card)), arrange);
const { browser, editor, notebook, terminal } = panes.byName;
const picture = element("img", { alt: translate("picture"), hidden: true });
find("#live").append(picture);
const thumbnail = new Thumbnail(picture);
const ports = new PortList(find("#ports"), showShares);
/** @type {import("/static/home/share_list.js").ShareList | undefined} */
let shares;
/** @type {import("/static/home/operator.js").Components | undefined} */
let components;
let hasDesktop = false;
const { promise: agentSeen, resolve: seeAgent } = Promise.withResolvers();
let covered = "";

/** Poll readiness: often until everything is ready, and only while the page is visible. */
async function watchReadiness() {
  const ready = document.hidden || (await showReadiness());
  setTimeout(watchReadiness, ready ? READY_MS : STARTING_MS);
}

async function showReadiness() {
  try {
    const { status, components: states } = await call("GET", "/readyz", { whole: true, accepted: [503] });
    show(find("#readiness"), translate(status === "ready" ? "ready" : "starting"), status === "ready" ? "good" : "waiting");
    showDesktop(states ?? {});
    components?.show(states ?? {});
    return status === "ready";
  } catch {
    show(find("#readiness"), translate("silent"), "bad");
    return false;
  }
}

/** @param {Record<string, string>} states */
function showDesktop({ stream, vnc }) {
  hasDesktop = Boolean(stream || vnc);
  browser.allow(hasDesktop, translate("noDesktop"));
  arrange();
}

/** Show the picture, or in its place the page itself, or who has hidden it. */
function arrange() {
  thumbnail.shown = hasDesktop && !browser.isOpen && !covered;
  find("#live").hidden = !hasDesktop || browser.isOpen || Boolean(covered);
  find("#cover").hidden = !covered || browser.isOpen;
  find("#cover").textContent = covered;
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

/** @param {Control} control */
function showControl(control) {
  find("#drives").textContent = driverText(control);
  browser.card.dataset.driver = bar.dataset.driver ?? "none";
  covered = control.private && !control.you.sees ? translate("covered", { name: person(control.private) }) : "";
  arrange();
  if (control.agent_seen) seeAgent(undefined);
  showWaiting(control.state === "agent" && !control.agent_seen);
}

/** While there never was an agent, how to connect one comes first. @param {boolean} waits */
function showWaiting(waits) {
  if (connect.hasAttribute("data-waiting") === waits) return;
  connect.toggleAttribute("data-waiting", waits);
  find("#connect-title").textContent = translate(waits ? "waiting" : "connect");
  if (waits) {
    find("main tandem-requests").after(connect);
    connect.open = true;
  }
}

bar.addEventListener("control", (event) => showControl(/** @type {CustomEvent} */ (event).detail.control));
bar.addEventListener("ports", (event) => ports.show(/** @type {CustomEvent} */ (event).detail.ports));
if (bar.lease.now) showControl(bar.lease.now);
if (bar.ports) ports.show(bar.ports);

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
    pane.allow(Boolean(found?.installed), translate(found ? "notInstalled" : "leftOut"));
  }
  find("#tools").hidden = false;
}

/** Show the links to ports. What lists them is loaded with the first one. */
async function showShares() {
  const found = await call("GET", "/v1/ports/shares");
  if (shares) return shares.show(found);
  if (!found.length) return undefined;
  const { ShareList } = await import("/static/home/share_list.js");
  shares ??= new ShareList(find("#shares"), find("#shares-part"), (id) => ports.forget(id));
  return shares.watch(found);
}

/** Show the terminal's last lines, and give what reads them again. @returns {Promise<() => void>} */
async function showTerminal() {
  const [{ TerminalLines }, { home_dir: home }] = await Promise.all([import("/static/home/terminal_lines.js"), call("GET", "/v1/sandbox", { whole: true })]);
  const lines = new TerminalLines({ lines: find("#lines"), session: find("#session"), none: find("#no-lines") }, home);
  await lines.read();
  return () => lines.soon();
}

/** Show the last acts, once there was an agent. @param {string} caller @param {Promise<() => void>} acted */
async function showActs(caller, acted) {
  await agentSeen;
  const { LastActs } = await import("/static/home/last_acts.js");
  const acts = new LastActs(find("#acts"), caller, () => acted.then((soon) => soon()));
  find("#acts-card").hidden = !(await acts.start());
}

/** @param {"admin" | "other" | "none"} keys */
function offerConnect(keys) {
  connect.hidden = false;
  let shown = false;
  const show = async () => {
    if (shown || !connect.open) return;
    shown = true; // two events may come before the module does
    (await import("/static/home/connect.js")).showConnect(find("#connect-body"), keys);
  };
  connect.addEventListener("toggle", show);
  const asked = () => (connect.open ||= location.hash === "#connect");
  addEventListener("hashchange", asked);
  asked();
  void show(); // it may have been opened before
}

/** Say how many protections are off; the whole list is loaded when it is unfolded. */
async function offerOperator() {
  const operator = /** @type {HTMLDetailsElement} */ (find("#operator"));
  operator.hidden = false;
  const diagnosis = call("GET", "/v1/doctor");
  let shown = false;
  operator.addEventListener("toggle", async () => {
    if (shown || !operator.open) return;
    shown = true;
    const { Components, showOperator } = await import("/static/home/operator.js");
    components = new Components(find("#states"));
    showOperator(diagnosis);
    await showReadiness();
  });
  const { checks, lost } = await diagnosis;
  find("#protections").textContent = translate(lost.length ? "someOff" : "allOn", { off: lost.length, all: checks.length });
}

/** Load an element of the page when one scrolls to it, once all above has its place. @param {string} tag @param {string} module without its ending */
function offerInSight(tag, module) {
  const sight = new IntersectionObserver((seen) => {
    if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
    sight.disconnect();
    loadStyle(`${module}.css`);
    import(`${module}.js`);
  });
  sight.observe(find(tag));
}

/** Show what the caller may see and use, and nothing else. */
async function begin() {
  const { caller, scopes } = await call("GET", "/auth", { whole: true });
  const may = (/** @type {string} */ scope) => scopes.split(" ").includes(scope);
  thumbnail.allowed = may("browser");
  terminal.card.hidden = !may("shell");
  find("#ports-section").hidden = !may("code");
  find("tandem-network").hidden = !may("shell");
  find("tandem-network").toggleAttribute("manages", may("admin"));
  if (may("code")) showShares().catch(() => {});
  /** @type {Promise<() => void>} */
  const terminals = may("shell") ? showTerminal().catch(() => () => {}) : Promise.resolve(() => {});
  if (may("shell")) offerConnect(caller.startsWith("anyone") ? "none" : may("admin") ? "admin" : "other");
  const shown = [may("shell") && showEditors(), may("admin") && offerOperator(), terminals];
  if (may("admin")) showActs(caller, terminals).catch(() => {});
  await Promise.allSettled(shown);
}

/** @type {HTMLFormElement} */ (find("#preview")).addEventListener("submit", (event) => {
  event.preventDefault();
  open(`/proxy/${Number(/** @type {HTMLInputElement} */ (find("#port")).value)}/`, "_blank", "noopener");
});

Promise.all([watchReadiness(), begin().catch(() => {})]).then(() => {
  panes.restore();
  offerInSight("tandem-network", "/static/network/network");
  offerInSight("tandem-checkpoints", "/static/checkpoints/checkpoints");
});
