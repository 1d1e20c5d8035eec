// The form of a request: where each content goes, and that a secret stays nowhere on the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing } from "../browser/network.mjs";
import { LOGIN, PASSWORD, USER } from "./handoffs.mjs";

openDocument();
const { RequestForm } = await import("/static/requests/request_form.js");

/** @param {any[]} fields @returns {any} */
const formOf = (...fields) => new RequestForm({ ...LOGIN, fields });

test("each field says where its content goes", () => {
  const { element } = formOf(USER, PASSWORD);
  assert.deepEqual(element.querySelectorAll(".muted").map(({ textContent }) => textContent), ["Sent to the agent.", "Typed only into bank.test. The agent never sees it."]);
  assert.deepEqual(element.querySelectorAll("input").map(({ type }) => type), ["text", "password"]);
  for (const input of element.querySelectorAll("input")) assert.ok(element.querySelector(`[id=${input.getAttribute("aria-describedby")}]`));
});

test("a secret goes to the request's operation, and the input is empty then", async () => {
  const asked = answering(() => null);
  const form = formOf(PASSWORD);
  const input = form.element.querySelector("input");
  input.value = "hunter2";
  assert.equal(await form.fill(), true);
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/handoffs/h1/secret", body: { field: "password", secret: "hunter2" } }]);
  assert.deepEqual([input.value, form.element.querySelector(".filled").hidden, input.required], ["", false, false]);
});

test("a refusal is shown beside the field, without the value, and what else was written stays", async () => {
  answering(() => refusing(409, "the page has another origin"));
  const form = formOf(USER, PASSWORD, { ...PASSWORD, name: "pin" });
  const [user, password, pin] = form.element.querySelectorAll("input");
  [user.value, password.value, pin.value] = ["ann", "hunter2", "1234"];
  assert.equal(await form.fill(), false);
  assert.equal(form.element.querySelectorAll(".problem")[1].textContent, "That did not work: the page has another origin");
  assert.deepEqual([user.value, password.value, pin.value], ["ann", "", "1234"]);
  assert.deepEqual([form.values, form.begun], [{ user: "ann" }, true]);
});

test("a secret must be given once, other fields may be left out where there are several", () => {
  const form = formOf(USER, PASSWORD);
  assert.deepEqual(form.element.querySelectorAll("input").map(({ required }) => required), [false, true]);
  form.show({ ...LOGIN, dropped: ["password"] });
  assert.deepEqual(form.element.querySelectorAll("input").map(({ required }) => required), [false, false]);
  assert.equal(formOf(USER).element.querySelector("input").required, true);
});

test("two fields of the same page never share an id", () => {
  const ids = [formOf(USER), formOf(USER)].map(({ element }) => element.querySelector("input").id);
  assert.notEqual(ids[0], ids[1]);
});
