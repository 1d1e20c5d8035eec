// Approvals in the record.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { approvalOf, programName } = await import("/static/recorder/approvals.js");

test("an approval is told by what it is about", () => {
  const asked = (/** @type {string} */ subject, /** @type {object} */ details) => approvalOf(/** @type {any} */ ({ kind: "handoff", asks: "approve", subject, details }));
  assert.deepEqual(asked("network", { host: "a.example", port: "443", program: "curl" }), { key: "asked_network", values: { program: "curl", what: "a.example:443" } });
  assert.equal(asked("shell", { command: "git push" })?.values.what, "git push");
  assert.equal(asked("odd", {}), undefined);
  assert.equal(approvalOf(/** @type {any} */ ({ asks: "confirm" })), undefined);
});

test("a program is called by the first word of its command line", () => {
  assert.deepEqual(["/usr/bin/curl -d a", "", ["a"]].map(programName), ["curl", "A program", "A program"]);
});
