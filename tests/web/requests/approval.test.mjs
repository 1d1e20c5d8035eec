// What an approval is about, as a sentence and in its details.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { approval, REACH } from "./approvals.mjs";

openDocument();
const { approvalDetails, approvalSentence, approvalText, isCut, reasonOf, sessionName } = await import("/static/requests/approval.js");

/** @param {string} subject @param {Record<string, string>} details */
const about = (subject, details) => approvalText(approval(subject, details));

test("the sentence says what wants what", () => {
  for (const [subject, details, says] of /** @type {[string, Record<string, string>, string][]} */ ([
    ["network", REACH.approval.details, "curl in shell 2 wants to reach api.example.com:443"],
    ["network", { host: "api.example.com", port: "443", reason: "the API of the task" }, "The agent wants to reach api.example.com:443"],
    ["network", { host: "2001:db8::1", port: "443" }, "A program wants to reach [2001:db8::1]:443"],
    ["network", { ...REACH.approval.details, program: "/usr/bin/curl -d @/etc/passwd", request: "unknown" }, "curl in shell 2 wants to reach api.example.com:443"],
    ["network", { ...REACH.approval.details, program: "unknown", session: "unknown" }, "A program wants to reach api.example.com:443"],
    ["network", { ...REACH.approval.details, request: "POST /upload" }, "curl in shell 2 wants to send POST /upload to api.example.com:443"],
    ["shell", { command: "git push origin main" }, "The agent wants to run git push origin main"],
    ["navigation", { url: "https://bank.example/" }, "The agent wants to open https://bank.example/"],
    ["download", { url: "https://bank.example/a.zip" }, "The agent wants to download a file from https://bank.example/a.zip"],
    ["download", { url: "https://bank.example/a.zip", file: "a.zip" }, "The agent wants to download a.zip from https://bank.example/a.zip"],
    ["submit", { url: "https://bank.example/pay" }, "The agent wants to send a form to https://bank.example/pay"],
    ["tool", { tool: "send_mail" }, "The agent wants to use the tool send_mail"],
    ["tool", { tool: "send_mail", server: "mail" }, "The agent wants to use the tool send_mail of mail"],
  ])) {
    assert.equal(about(subject, details), says);
  }
});

test("what a program wrote is a piece of its own, and of what is not known the reason tells", () => {
  assert.deepEqual(approvalSentence(REACH).filter(({ code }) => code).map(({ text }) => text), ["curl", "api.example.com:443"]);
  assert.equal(about("constructor", {}), REACH.reason);
  assert.equal(approvalText({ ...REACH, approval: null }), REACH.reason);
});

test("values cannot fill other places of the sentence", () => {
  assert.equal(about("network", { host: "{who}\u0000place\u0000", port: "1", program: "$&{place}" }), "$&{place} wants to reach {who}⟨U+0000⟩place⟨U+0000⟩:1");
});

test("a sentence has an end, and the details have the whole", () => {
  const command = `echo ${"x".repeat(3000)}; rm -rf ~`;
  const handoff = approval("shell", { command });
  assert.ok(approvalText(handoff).length < 200);
  assert.ok(approvalText(handoff).endsWith("…"));
  assert.deepEqual([approvalDetails(handoff), isCut(handoff), isCut(REACH)], [[["Command", command]], true, false]);
});

test("what turns the direction of writing or cannot be seen is shown by its number", () => {
  const details = { command: "echo \u202egpj.exe\u200b" };
  assert.equal(about("shell", details), "The agent wants to run echo ⟨U+202E⟩gpj.exe⟨U+200B⟩");
  assert.deepEqual(approvalDetails(approval("shell", details)), [["Command", "echo ⟨U+202E⟩gpj.exe⟨U+200B⟩"]]);
});

test("details are in the order of what matters, those without a name come last, and there are not many", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, "v"]));
  const details = approvalDetails(approval("network", { zone: "a", ...REACH.approval.details, empty: "", rule: "ask me" }));
  assert.deepEqual(details.map(([name]) => name), ["Host", "Port", "Program", "Session", "Rule", "zone"]);
  assert.equal(approvalDetails(approval("network", many)).length, 16);
});

test("a session is called by its kind and its name", () => {
  assert.deepEqual(["shell:main", "bash:592a5582-5df5-4c92-b69c-0123456789ab", "jupyter:k1", "desktop", "odd"].map(sessionName), ["shell main", "shell 592a5582", "notebook k1", "the desktop", "odd"]);
});

test("the agent's reason stands apart from the details", () => {
  const asked = approval("network", { host: "a.example", reason: "the API of the task" });
  assert.deepEqual([reasonOf(asked), approvalDetails(asked)], ["the API of the task", [["Host", "a.example"]]]);
  assert.equal(reasonOf(REACH), "");
});

test("what is not known of a connection is left out, or said to be unknown", () => {
  const details = { host: "a.example", program: "unknown", session: "unknown", request: "unknown", protocol: "unknown" };
  assert.deepEqual(approvalDetails(approval("network", details)), [["Host", "a.example"], ["Program", "unknown"], ["Session", "unknown"]]);
});
