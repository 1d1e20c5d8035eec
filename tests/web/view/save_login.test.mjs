// Save login: the profile in use is copied under the name that the person gives, and the page tells how it went.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

const body = openDocument();
const { SaveLogin } = await import("/static/view/save_login.js");

/** @type {any} */
let shown;

beforeEach(() => {
  body.replaceChildren();
  shown = parts(body, { form: "form", name: "input", hint: "p", save: "button" });
  new SaveLogin(shown);
});

/** @param {string} name */
async function submit(name) {
  shown.name.value = name;
  const event = new Event("submit", { cancelable: true });
  shown.form.onsubmit(event);
  assert.equal(event.defaultPrevented, true);
  await settled();
}

test("the profile in use is copied under the name that was given", async () => {
  const profiles = [{ name: "default", in_use: false }, { name: "work 1", in_use: true }];
  const asked = answering((method) => (method === "GET" ? { profiles } : { name: "mail" }));
  await submit("mail");
  assert.deepEqual(
    asked.map(({ method, path, body: sent }) => [method, path, sent]),
    [["GET", "/v1/profiles", undefined], ["POST", "/v1/profiles/work%201/duplicate", { to: "mail" }]],
  );
  assert.equal(shown.hint.textContent, "Saved as mail.");
  assert.equal(shown.name.value, "");
  assert.equal(shown.save.disabled, false);
});

test("a copy that is refused says why, and the name stays", async () => {
  answering((method) => (method === "GET" ? { profiles: [{ name: "default", in_use: true }] } : refusing(409, "there is a profile 'mail'")));
  await submit("mail");
  assert.equal(shown.hint.textContent, "That did not work: there is a profile 'mail'");
  assert.equal(shown.name.value, "mail");
  assert.equal(shown.save.disabled, false);
});

test("while it is copied it cannot be asked for again", async () => {
  /** @type {(value: any) => void} */
  let answer = () => {};
  answering(() => new Promise((resolve) => (answer = resolve)));
  await submit("mail");
  assert.equal(shown.save.disabled, true);
  assert.match(shown.hint.textContent, /^Saving/);
  answer(refusing(503, "the browser does not stop"));
  await settled();
  assert.equal(shown.save.disabled, false);
});
