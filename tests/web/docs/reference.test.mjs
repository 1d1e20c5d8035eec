// The reference shows one operation, or the list of tools.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { TEMPLATE, find, groups, operations } from "./operations.mjs";

const body = openDocument();
const { Reference } = await import("/static/docs/reference.js");

/** @type {any} */
let main;
/** @type {any} */
let reference;

beforeEach(() => {
  main = document.createElement("main");
  body.replaceChildren(main);
  const template = document.createElement("template");
  template.innerHTML = TEMPLATE;
  reference = new Reference(main, template);
});

const marks = () => main.querySelectorAll(".mark").map(({ textContent }) => textContent);

test("an operation is shown with its route, its fields and its code samples", () => {
  reference.show(find("shell/exec_command"));
  const text = (selector) => main.querySelector(selector).textContent;
  assert.deepEqual([text(".verb"), text(".path"), text(".tag")], ["POST", "/v1/shell/exec", "shell"]);
  assert.ok(main.querySelectorAll(".parameters dt").some(({ textContent }) => textContent === "command required"));
  assert.deepEqual(main.querySelectorAll("[role=tab]").map(({ textContent }) => textContent).slice(0, 3), ["curl", "Command line", "Python"]);
  assert.equal(document.title, "exec_command · API · Tandem");
});

test("what a caller should know of an operation is marked", () => {
  reference.show(find("shell/exec_command"));
  assert.ok(marks().includes("scope shell") && marks().includes("can stream events"));
  reference.show(operations.find(({ scope }) => scope === "public"));
  assert.ok(marks().includes("needs no sign-in"));
  reference.show(operations.find(({ tool }) => tool === "sandbox_execute_bash"));
  assert.ok(marks().includes("tool sandbox_execute_bash"));
});

test("an operation that the SDK lacks has Python, too", () => {
  reference.show(operations.find(({ path }) => path === "/v1/control/take"));
  assert.ok(main.querySelectorAll("[role=tab]").some(({ textContent }) => textContent === "Python"));
});

test("where the answer stands is said of each operation that has the envelope", () => {
  reference.show(find("checkpoints/create_checkpoint"));
  assert.match(main.querySelector(".media").textContent, /in data of the answer$/);
  reference.show(find("description/openapi"));
  assert.ok(!main.querySelector(".media").textContent.includes("in data"));
});

test("the first page says how answers look, and has every group with a sentence and its operations", () => {
  reference.showAll(groups);
  const tools = operations.filter(({ tool }) => tool);
  assert.equal(main.querySelector("h3").textContent, "Pick an operation");
  assert.equal(main.querySelector("p").textContent, `${operations.length} operations, ${tools.length} of them tools for agents`);
  assert.ok(main.textContent.includes("{success, message, data, hint}"));
  assert.equal(main.querySelectorAll(".group").length, groups.length);
  assert.ok(main.querySelectorAll(".group p").some(({ textContent }) => textContent === "Keep the state of the files, compare, and go back."));
  assert.deepEqual(main.querySelectorAll(".links a").map(({ href }) => href), operations.map(({ id }) => `#${id}`));
});

test("the first page has every tool, with a link to its operation", () => {
  reference.showAll(groups);
  const tools = operations.filter(({ tool }) => tool);
  assert.deepEqual(main.querySelectorAll(".tools a").map(({ href }) => href), tools.map(({ id }) => `#${id}`));
});

test("another operation ends the request of the one before", () => {
  reference.show(find("shell/exec_command"));
  let ended = 0;
  reference.trial.close = () => ended++;
  reference.show(operations.find(({ path }) => path === "/v1/control/take"));
  assert.equal(ended, 1);
});
