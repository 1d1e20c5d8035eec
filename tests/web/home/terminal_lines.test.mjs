// The terminal's last lines: of the session that was used last, bounded, and without what a terminal would act on.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";

const body = openDocument();
const { lastLines, sessionName, TerminalLines, usedLast } = await import("/static/home/terminal_lines.js");

const SESSION = /** @type {any} */ ({
  working_dir: "/home/gem/site", created_at: "2026-11-23T01:00:00Z", status: "completed", current_command: null, alive: true,
  made_by: "agent", owner: null, yours: false, last_input_at: "2026-11-23T01:05:00Z", last_input_by: "agent",
});
/** @type {any} */
let shown;

beforeEach(() => {
  body.replaceChildren();
  shown = parts(body, { lines: "pre", session: "span", none: "p" });
  Object.assign(document, { hidden: false });
});

test("of a long text there are the last ten lines, each cut", () => {
  const text = lastLines(`${Array.from({ length: 40 }, (_, n) => `line ${n}`).join("\n")}\n${"x".repeat(500)}\n\n\n`);
  const lines = text.split("\n");
  assert.deepEqual([lines.length, lines[0], lines.at(-1)?.length], [10, "line 31", 160]);
});

test("control sequences and characters that turn or hide text are gone", () => {
  assert.equal(lastLines("\u001b[31mred\u001b[0m \u001b]0;title\u0007ok\u001b(B \u001bM\r\n\u202eabc\u0000\u200b"), "red ok \nabc");
  assert.equal(lastLines("a\u001b]8;;http://evil\u001b\\b"), "ab");
});

test("a text of nothing but control characters takes no time", () => {
  const before = performance.now();
  lastLines("\u001b[".repeat(1_000_000));
  assert.ok(performance.now() - before < 1000);
});

test("the session used last is shown, and one that lives before one that has ended", () => {
  const later = { ...SESSION, last_input_at: "2026-11-23T02:00:00Z" };
  assert.equal(usedLast({ a: SESSION, b: later, c: { ...SESSION, last_input_at: null } })?.[0], "b");
  assert.equal(usedLast({ a: SESSION, b: { ...later, alive: false } })?.[0], "a");
  assert.equal(usedLast({}), undefined);
});

test("a session is named by who, where and what runs", () => {
  assert.equal(sessionName({ ...SESSION, status: "running", current_command: "npm run\ndev" }, "/home/gem"), "Agent · ~/site · npm run … (running)");
  assert.equal(sessionName({ ...SESSION, made_by: "person", yours: true, working_dir: "/tmp" }, "/home/gem"), "You · /tmp");
  assert.equal(sessionName({ ...SESSION, made_by: "person", owner: "bob#56789a" }, "/home/gem"), "bob · 5678 · ~/site");
});

test("lines are read again soon after an act, and more often while something runs", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let session = { ...SESSION, status: "running" };
  const asked = answering((_, path) => (path === "/v1/shell/view" ? { output: "<b>$ ls" } : { sessions: { s1: session } }));
  const lines = new TerminalLines(shown, "/home/gem");
  await lines.read();
  assert.deepEqual([shown.lines.textContent, shown.lines.querySelector("b"), shown.none.hidden, asked.at(-1)], ["<b>$ ls", null, true, { method: "POST", path: "/v1/shell/view", body: { id: "s1" } }]);
  session = SESSION;
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(asked.length, 4);
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(asked.length, 4);
  lines.soon();
  t.mock.timers.tick(400);
  await settled();
  assert.equal(asked.length, 6);
  Object.assign(document, { hidden: true });
  t.mock.timers.tick(60000);
  await settled();
  assert.equal(asked.length, 6);
});

test("an act while lines are read is followed by another look soon", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {(sessions: any) => void} */
  let letGo = () => {};
  const asked = answering(() => new Promise((resolve) => (letGo = resolve)));
  const reading = new TerminalLines(shown, "/home/gem");
  const first = reading.read();
  await settled();
  reading.soon();
  letGo({ sessions: {} });
  await first;
  t.mock.timers.tick(400);
  await settled();
  assert.equal(asked.length, 2);
});

test("without a session it says so", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  answering(() => ({ sessions: {} }));
  await new TerminalLines(shown, "/home/gem").read();
  assert.deepEqual([shown.lines.hidden, shown.none.hidden, shown.session.textContent], [true, false, ""]);
});
