// The page for one person who looks after many agents: all sandboxes, and one queue of what they ask.

import { element, find, say } from "./elements.js";
import { listen } from "./keyboard.js";
import { QuestionQueue } from "./question_queue.js";
import { call, follow } from "./service.js";
import { TileGrid } from "./tile_grid.js";

/** @typedef {import("./service.js").Question} Question */

const SAID_MS = 8000;
const TICK_MS = 1000;
let page = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let saying;

/** Tell the person something for a moment. @param {string} text */
function tell(text) {
  const said = find("said");
  said.hidden = false;
  say(said, text);
  clearTimeout(saying);
  saying = setTimeout(() => (said.hidden = true), SAID_MS);
}

/** Do something with the service, and say what it refuses. @param {() => Promise<unknown>} act */
const attempt = (act) => act().catch((error) => tell(error.message));

/** Open a sandbox's live page in a tab of its own. @param {string} sandbox its id */
const openSandbox = (sandbox) =>
  attempt(async () => {
    const { link } = await call("PUT", `/v1/sandboxes/${encodeURIComponent(sandbox)}/link`);
    open(link, "_blank", "noopener");
  });

/** @param {Question} question @param {"claim" | "release" | "answer"} what @param {unknown} [body] */
const act = (question, what, body) => call("POST", `/v1/queue/${encodeURIComponent(question.id)}/${what}`, body);

const grid = new TileGrid(find("tiles"), ({ id }) => openSandbox(id), (sandboxes) => {
  if (page) call("PUT", "/v1/wall/sight", { page, sandboxes }).catch(() => {}); // a page that is gone comes again with its events
});

const queue = new QuestionQueue(find("queue"), {
  open: (question) => attempt(async () => {
    if (!question.claimed_by) await act(question, "claim");
    await openSandbox(question.sandbox);
  }),
  claim: (question) => attempt(() => act(question, "claim")),
  release: (question) => attempt(() => act(question, "release")),
  answer: (question, { outcome, choice }) => attempt(() => act(question, "answer", choice == null ? { outcome } : { outcome, choice })),
});

/** @param {Question[]} questions */
function showQueue(questions) {
  queue.show(questions);
  grid.setAsked(queue.counts);
  const skills = queue.skills;
  const choice = /** @type {HTMLSelectElement} */ (find("skill"));
  if (JSON.stringify(skills) !== choice.dataset.skills) {
    choice.dataset.skills = JSON.stringify(skills);
    const chosen = skills.includes(choice.value) ? choice.value : "";
    choice.replaceChildren(element("option", { value: "", textContent: "Any skill" }), ...skills.map((skill) => element("option", { value: skill, textContent: skill })));
    choice.value = chosen;
    queue.choose(chosen);
  }
  choice.hidden = !skills.length;
  showCounts();
}

function showCounts() {
  const sandboxes = grid.sandboxes;
  const ready = sandboxes.filter(({ state }) => state === "ready").length;
  say(find("counts"), `${sandboxes.length}, ${ready} ready`);
  say(find("queue-count"), queue.size ? `${queue.size} open` : "");
  find("queue-empty").hidden = Boolean(find("queue").childElementCount);
  const none = find("tiles-empty");
  none.hidden = grid.shown > 0;
  say(none, sandboxes.length ? "No sandbox matches." : "There are no sandboxes. Make one with tandem up.");
  document.title = queue.size ? `(${queue.size}) Tandem` : "Tandem";
  showStates(sandboxes.map(({ state }) => state));
}

/** Offer the states that there are. @param {string[]} states */
function showStates(states) {
  const choice = /** @type {HTMLSelectElement} */ (find("state"));
  const known = new Set([...choice.options].map(({ value }) => value));
  for (const state of new Set(states)) if (!known.has(state)) choice.append(element("option", { value: state, textContent: state }));
}

function chooseTiles() {
  const text = /** @type {HTMLInputElement} */ (find("search")).value;
  const state = /** @type {HTMLSelectElement} */ (find("state")).value;
  const needsMe = /** @type {HTMLInputElement} */ (find("needs-me")).checked;
  grid.choose({ text, state, needsMe }, /** @type {import("./filters.js").Order} */ (/** @type {HTMLSelectElement} */ (find("order")).value));
  showCounts();
}

/** @param {boolean} signedIn */
function showSignedIn(signedIn) {
  find("wall").hidden = !signedIn;
  find("signed-out").hidden = signedIn;
  find("sign-out").hidden = !signedIn;
  find("counts").hidden = !signedIn;
  if (!signedIn) call("GET", "/oidc/offered").then(({ offered }) => (find("sign-in").hidden = !offered), () => {});
}

function toggleKeys() {
  const keys = find("keys");
  keys.hidden = !keys.hidden;
  find("keys-button").ariaExpanded = String(!keys.hidden);
}

/** Claim the request that has the focus, or let go of it. */
function toggleClaim() {
  const question = queue.current;
  if (question) attempt(() => act(question, question.mine ? "release" : "claim"));
}

function openCurrent() {
  const question = queue.current;
  if (question) queue.actions.open(question);
}

find("filters").addEventListener("input", chooseTiles);
find("filters").addEventListener("submit", (event) => event.preventDefault());
find("skill").addEventListener("input", (event) => queue.choose(/** @type {HTMLSelectElement} */ (event.target).value));
find("keys-button").addEventListener("click", toggleKeys);
find("sign-out").addEventListener("click", () => attempt(async () => {
  const { leave } = await call("DELETE", "/v1/session");
  if (leave) location.assign(leave);
  else location.reload();
}));
listen({
  j: () => queue.go(1), n: () => queue.go(1), k: () => queue.go(-1), p: () => queue.go(-1),
  c: toggleClaim, enter: openCurrent, "/": () => find("search").focus(), "?": toggleKeys,
});

setInterval(() => {
  if (document.hidden) return;
  const now = Date.now();
  queue.tick(now);
  grid.tick(now);
}, TICK_MS);

async function begin() {
  const who = await call("GET", "/v1/session").catch(() => null);
  showSignedIn(Boolean(who));
  if (!who) return;
  say(find("person"), who.person);
  follow({
    wall: (told) => {
      page = told.page;
      grid.showAll(told.tiles);
      showQueue(told.queue);
      grid.tellSight();
    },
    tile: (tile) => {
      grid.show(tile);
      showCounts();
    },
    gone: ({ id }) => {
      grid.remove(id);
      showCounts();
    },
    queue: showQueue,
    connected: (connected) => say(find("connection"), connected ? "" : "The connection is lost. It comes back by itself."),
    signedOut: () => showSignedIn(false),
  });
}

void begin();
