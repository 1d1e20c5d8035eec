// Shell sessions as the terminal page lists them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { agentElsewhere, command, entries, lastInput, title } = await import("/static/terminal/session_list.js");

const HOME = "/home/gem";

/** @param {object} [changes] @returns {any} */
const session = (changes) => ({
  working_dir: HOME,
  created_at: "2025-01-01T00:00:00Z",
  status: "completed",
  current_command: null,
  alive: true,
  made_by: "agent",
  owner: null,
  yours: false,
  last_input_at: null,
  last_input_by: null,
  ...changes,
});

test("a title says who made a session, where it is and what runs", () => {
  const site = { working_dir: `${HOME}/site`, status: "running", current_command: "python3 -m http.server 3000" };
  assert.equal(title(session(site), HOME), "Agent · ~/site · python3 -m http.server 3000 (running)");
  assert.equal(title(session({ made_by: "person", owner: "owner#4fdfc3", yours: true }), HOME), "You · ~");
  assert.equal(title(session({ made_by: "person", owner: "owner#4fdfc3", working_dir: "/etc" }), HOME), "owner · 4fdf · /etc");
  assert.equal(title(session({ status: "running" }), HOME), "Agent · ~ · running");
  assert.equal(title(session({ alive: false, status: "terminated" }), HOME), "Agent · ~ · ended");
});

test("only what is in the home directory is shortened", () => {
  assert.equal(title(session({ working_dir: "/home/gemini" }), HOME), "Agent · /home/gemini");
  assert.equal(title(session(), ""), "Agent · /home/gem");
});

test("what the agent writes is one line of bounded length, without characters that hide or reorder text", () => {
  const hostile = { working_dir: `/tmp/${"d".repeat(4000)}`, status: "running", current_command: `\u202Eevil\u0007\n\u200B<b>${"x".repeat(2000)}` };
  const shown = title(session(hostile), HOME);
  assert.ok(shown.length < 130, String(shown.length));
  assert.match(shown, /^Agent · …d+ · evil <b>x+… \(running\)$/);
  assert.equal(command(session({ current_command: "a\n\n  b\tc" })), "a b c");
});

test("sessions are listed oldest first, and equal titles are numbered", () => {
  const found = entries({ b: session({ created_at: "2025-01-02T00:00:00Z" }), a: session(), c: session({ working_dir: "/" , created_at: "2025-01-03T00:00:00Z" }) }, HOME);
  assert.deepEqual(found.map((entry) => [entry.id, entry.title]), [["a", "Agent · ~"], ["b", "Agent · ~ (2)"], ["c", "Agent · /"]]);
});

test("the agent's input elsewhere is told, and neither a person's, an old one nor one in the session that is shown", () => {
  const sessions = {
    shown: session({ last_input_at: "2025-01-01T00:00:03Z", last_input_by: "person" }),
    old: session({ last_input_at: "2025-01-01T00:00:01.5Z", last_input_by: "agent" }),
    new: session({ last_input_at: "2025-01-01T00:00:02.500001Z", last_input_by: "agent" }),
    hers: session({ last_input_at: "2025-01-01T00:00:09Z", last_input_by: "person" }),
    unused: session(),
  };
  assert.equal(agentElsewhere(sessions, "shown", "2025-01-01T00:00:02Z"), "new");
  assert.equal(agentElsewhere(sessions, "shown", "2025-01-01T00:00:03Z"), undefined);
  assert.equal(agentElsewhere(sessions, "new", "2025-01-01T00:00:01Z"), undefined);
  assert.equal(agentElsewhere(sessions, "shown", ""), "new");
});

test("the last input of all is found, whatever the digits of its seconds", () => {
  assert.equal(lastInput({}), "");
  assert.equal(lastInput({ a: session() }), "");
  const at = ["2025-01-01T00:00:02Z", "2025-01-01T00:00:02.5Z", "2025-01-01T00:00:01.999Z"];
  assert.equal(lastInput(Object.fromEntries(at.map((when) => [when, session({ last_input_at: when })]))), at[1]);
});
