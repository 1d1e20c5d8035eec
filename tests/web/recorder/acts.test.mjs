// What each operation does.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
const { actOf, actionOf, countsOf, isByHand } = await import("/static/recorder/acts.js");
const { isKey } = await import("/static/recorder/strings.js");

/** @param {string} operation @param {object} [request] @param {string} [kind] @returns {any} */
const entry = (operation, request, kind = "call") => ({ n: 1, at: 1, kind, actor: { type: "agent", name: "key" }, operation, outcome: "ok", request });

test("commands and code are told with what was run", () => {
  assert.deepEqual(actOf(entry("shell.exec_command", { command: "ls" })), { key: "ran", values: { command: "ls" } });
  assert.deepEqual(actOf(entry("shell.execute_bash", { cmd: "pwd" })).values, { command: "pwd" });
  assert.deepEqual(actOf(entry("code.execute_code", { language: "python", code: "f()" })).values, { language: "Python", command: "f()" });
  assert.deepEqual(actOf(entry("jupyter.execute_code", { code: "1 + 1\n2" })).values, { language: "Python", command: "1 + 1 …" });
});

test("files are told by their paths", () => {
  assert.deepEqual(actOf(entry("file.move_file", { path: "/a", destination: "/b" })), { key: "movedFile", values: { path: "/a", destination: "/b" } });
  const edits = ["view", "create", "str_replace"].map((command) => actOf(entry("file.str_replace_editor", { command, path: "/a" })).key);
  assert.deepEqual(edits, ["readFile", "wroteFile", "changedFile"]);
});

test("a click is told by element or place, typing by its length", () => {
  assert.deepEqual(actOf(entry("browser-page.click", { selector: "#go" })), { key: "clicked", values: { what: "#go" } });
  assert.deepEqual(actOf(entry("browser.execute_action", { action_type: "CLICK", x: 1.4, y: 9.6 })).values, { what: "1, 10" });
  assert.deepEqual(actOf(entry("browser.act", { action: { action_type: "TYPING", text_length: 5 } })), { key: "typed", values: { count: 5 } });
  assert.deepEqual(actionOf({ action_type: "CLICK" }), { key: "clickedBare" });
  assert.deepEqual(actionOf({ action_type: "constructor" }), { key: "actedOnScreen", values: { operation: "constructor" } });
});

test("links and shares are told with what they allow", () => {
  const invite = (/** @type {object} */ request) => actOf(entry("auth.create_ticket", request, "access")).key;
  assert.deepEqual([invite({ scopes: ["view"] }), invite({ scopes: ["view", "control"] }), invite({}), invite({ actor: "agent" })], ["invited", "invitedControl", "invitedControl", "madeTicket"]);
  assert.deepEqual(actOf(entry("ports.share_port", { port: 3000 })).values, { port: "3000" });
  const made = (/** @type {object} */ request) => actOf(entry("auth.create_invitation", request, "access")).key;
  assert.deepEqual([made({ access: "watch" }), made({ access: "control" }), made({})], ["invited", "invitedControl", "invited"]);
  assert.equal(actOf(entry("auth.revoke_invitation", { id: "i-1" }, "access")).key, "revokedInvite");
});

test("an operation that is not known is told by its name, and nothing of a record is looked up as one", () => {
  assert.deepEqual(actOf(entry("new.thing")), { key: "called", values: { operation: "new.thing" } });
  assert.deepEqual(actOf(entry("file.new", {}, "file")).key, "usedFiles");
  assert.deepEqual(actOf(entry("__proto__")).key, "called");
  assert.doesNotThrow(() => actOf(/** @type {any} */ ({ kind: "call", operation: { a: 1 }, request: 7 })));
});

test("every operation that is named is one of the API's, and every sentence is one of the strings", async () => {
  const source = await readFile(new URL("../../../sandbox_server/web/recorder/acts.js", import.meta.url), "utf8");
  const api = JSON.parse(await readFile(new URL("../../../sandbox_server/openapi.json", import.meta.url), "utf8"));
  const ids = new Set(Object.values(api.paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId)));
  const named = [...source.matchAll(/^ {2}"([a-z-]+\.\w+)":/gm)].map(([, name]) => name);
  assert.ok(named.length > 50);
  assert.deepEqual(named.filter((name) => !ids.has(name.replace(/[.-]/g, "_"))), []);
  for (const name of named) assert.ok(isKey(actOf(entry(name, {})).key), name);
});

test("mouse and keyboard are told from other acts on the screen", () => {
  const acts = [entry("browser-page.click"), entry("browser.execute_action", { action_type: "SCROLL" }), entry("browser-page.navigate", { url: "http://a.test" }), entry("browser-tabs.create")];
  assert.deepEqual(acts.map(isByHand), [true, true, false, false]);
});

test("input is counted by what it was", () => {
  assert.deepEqual(countsOf(/** @type {any} */ ({ kind: "input", counts: { keys: 3, clicks: 1, odd: "x" } })), [["keys", 3], ["clicks", 1]]);
  assert.deepEqual(countsOf(entry("browser-page.type_text", { text_length: 8 }, "input")), [["characters", 8]]);
  assert.deepEqual(countsOf(entry("browser-page.click", {}, "input")), [["clicks", 1]]);
  assert.deepEqual(countsOf(entry("browser-page.navigate", {}, "input")), [["others", 1]]);
});
