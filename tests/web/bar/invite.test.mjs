// The dialog "Invite".

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument, parts } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

const body = openDocument();
/** @type {string[]} */
let copied = [];
globals({
  FormData: class { constructor(form) { this.get = (name) => form.wish[name] ?? null; } },
  navigator: { language: "en", clipboard: { writeText: async (text) => void copied.push(text) } },
});
const { InviteDialog } = await import("/static/bar/invite.js");

const OPEN = [
  { id: "i-1", access: "watch", name: null, made_by: "ann#1234", expires_at: 0, uses: 5, left: 4 },
  { id: "i-2", access: "control", name: "Mia", made_by: "ann#1234", expires_at: 0, uses: 1, left: 1 },
];
/** @type {any} */
let shown;
/** @type {any} */
let invite;

beforeEach(() => {
  body.replaceChildren();
  copied = [];
  shown = parts(body, { dialog: "dialog", form: "form", made: "p", link: "input", copy: "button", told: "p", open: "div", list: "ul", close: "button" });
  shown.form.wish = { access: "watch", minutes: "60", uses: "1", name: "" };
  invite = new InviteDialog(shown);
});

/** @param {(method: string, path: string) => any} [answer] */
const sandbox = (answer = () => ({})) => answering((method, path) => (method === "GET" ? OPEN : answer(method, path)));

async function submit() {
  shown.form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
}

test("it lists the open invitations: for whom, what they may do, how often and how long", async () => {
  sandbox();
  await invite.show();
  assert.equal(shown.dialog.open, true);
  const lines = shown.list.children.map(({ children }) => children.map(({ textContent }) => textContent.replace(/until .*/, "until")));
  assert.deepEqual(lines, [["Any guest", "Can watch · 4 of 5 left · until", "Revoke"], ["Mia", "Can control · 1 of 1 left · until", "Revoke"]]);
  assert.deepEqual(shown.list.querySelectorAll("button").map((button) => button.getAttribute("aria-label")), ["Revoke: Any guest", "Revoke: Mia"]);
});

test("an invitation is a link, which is copied", async () => {
  const asked = sandbox(() => ({ ticket: "tk-0" }));
  shown.form.wish = { access: "control", minutes: "10", uses: "5", name: " Mia & Bo " };
  await submit();
  assert.deepEqual(asked[0], { method: "POST", path: "/v1/invitations", body: { access: "control", expires_in: 600, uses: 5, name: "Mia & Bo" } });
  assert.equal(shown.link.value, "http://box.test:8080/join#ticket=tk-0&name=Mia+%26+Bo");
  assert.deepEqual([copied, shown.made.hidden, shown.told.textContent], [[shown.link.value], false, "The link is copied. It is shown only now."]);
});

test("without a name the guest is asked for one", async () => {
  const asked = sandbox(() => ({ ticket: "tk-0" }));
  await submit();
  assert.equal("name" in asked[0].body, false);
  assert.equal(shown.link.value, "http://box.test:8080/join#ticket=tk-0");
});

test("where a page may not copy, it says so", async () => {
  globals({ navigator: { language: "en", clipboard: { writeText: async () => Promise.reject(new Error("no")) } } });
  sandbox(() => ({ ticket: "tk-0" }));
  await submit();
  assert.equal(shown.told.textContent, "Copy the link. It is shown only now.");
});

test("an invitation is revoked, and the list says so", async () => {
  const asked = sandbox();
  await invite.show();
  shown.list.querySelector("button").click();
  await settled();
  assert.deepEqual([asked[1].method, asked[1].path, asked[2].path], ["DELETE", "/v1/invitations/i-1", "/v1/invitations"]);
  assert.equal(shown.told.textContent, "Revoked: the link lets nobody in any more.");
});

test("a refusal is told in the dialog", async () => {
  sandbox(() => refusing(422, "a name has letters"));
  await submit();
  assert.equal(shown.told.textContent, "That did not work: a name has letters");
});
