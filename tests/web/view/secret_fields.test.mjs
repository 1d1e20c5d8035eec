// Secret fields: a value goes to the handoff's operation and stays nowhere on the page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

openDocument();
const { SecretFields } = await import("/static/view/secret_fields.js");

const PASSWORD = { name: "password", label: "Password", secret: true, origin: "https://bank.test" };
const STREET = { name: "street", label: "Street", secret: false, origin: null };

/** @param {any} form @param {string} value */
async function submit(form, value) {
  form.querySelector("input").value = value;
  form.dispatchEvent(Object.assign(new Event("submit", { cancelable: true })));
  await settled();
}

test("only secret fields have a form, which names the origin that the value goes to", () => {
  const [form, ...others] = new SecretFields().fields({ id: "h1", fields: [PASSWORD, STREET] });
  assert.equal(others.length, 0);
  assert.equal(form.querySelector("label").textContent, "Password");
  assert.equal(form.querySelector("p").textContent, "Goes into the page of https://bank.test alone. The agent is not told it.");
  assert.equal(form.querySelector("input").getAttribute("type"), "password");
});

test("the value is sent to the request's operation, and the input is empty at once", async () => {
  const asked = answering(() => null);
  const [form] = new SecretFields().fields({ id: "h1", fields: [PASSWORD] });
  await submit(form, "hunter2");
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/handoffs/h1/secret", body: { field: "password", secret: "hunter2" } }]);
  assert.equal(form.querySelector("input").value, "");
});

test("a refusal is shown beside the field, and without the value", async () => {
  answering(() => refusing(409, "the page has another origin"));
  const [form] = new SecretFields().fields({ id: "h1", fields: [PASSWORD] });
  await submit(form, "hunter2");
  assert.equal(form.querySelector(".error").textContent, "That did not work: the page has another origin");
});

test("a form outlives a redraw, and says once its field is filled", () => {
  const secrets = new SecretFields();
  const [form] = secrets.fields({ id: "h1", fields: [PASSWORD] });
  assert.equal(form.querySelector(".filled").hidden, true);
  const [again] = secrets.fields({ id: "h1", fields: [PASSWORD], dropped: ["password"] });
  assert.equal(again, form);
  assert.equal(form.querySelector(".filled").hidden, false);
});

test("the form of a request that is closed is forgotten, that of another is not", () => {
  const secrets = new SecretFields();
  const [first] = secrets.fields({ id: "h1", fields: [PASSWORD] });
  const [second] = secrets.fields({ id: "h2", fields: [PASSWORD] });
  secrets.keep([{ id: "h2" }]);
  assert.notEqual(secrets.fields({ id: "h1", fields: [PASSWORD] })[0], first);
  assert.equal(secrets.fields({ id: "h2", fields: [PASSWORD] })[0], second);
});
