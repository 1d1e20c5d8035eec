// A link to a port says what it opens, for whom and how long, before it is made.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

const body = openDocument();
const { toggleShareForm } = await import("/static/home/share_form.js");

/** @type {any} */
let row;
let shared = 0;

beforeEach(() => {
  shared = 0;
  row = document.createElement("li");
  row.append(Object.assign(document.createElement("small"), { textContent: "vite" }));
  body.replaceChildren(row);
  globals({ navigator: {} });
  toggleShareForm(row, 5173, () => shared++);
});

const submit = () => row.querySelector("form").onsubmit(new Event("submit", { cancelable: true }));

test("it names the port, the program and who can use the link; an hour is chosen", () => {
  assert.equal(row.querySelector("p").textContent, "Anyone with the link can open port 5173 (vite) without signing in.");
  assert.equal(row.querySelector("select").value, "3600");
  assert.deepEqual(row.querySelectorAll("option").map(({ textContent }) => textContent), ["1 h", "8 h", "1 d", "7 d"]);
});

test("a second press closes it, and so does Cancel", () => {
  toggleShareForm(row, 5173, () => {});
  assert.equal(row.querySelector("form"), null);
  toggleShareForm(row, 5173, () => {});
  row.querySelectorAll("button")[1].onclick();
  assert.equal(row.querySelector("form"), null);
});

test("the link is made for the chosen time, shown, and copied where the page has a clipboard", async () => {
  const copied = [];
  globals({ navigator: { clipboard: { writeText: async (text) => void copied.push(text) } } });
  const asked = answering(() => ({ share_id: "s1", url: "http://box.test/p" }));
  row.querySelector("select").value = "86400";
  submit();
  await settled();
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/ports/5173/share", body: { ttl: 86400 } }]);
  const made = row.querySelector("[data-share=s1]");
  assert.deepEqual([made.querySelector("input").value, copied, made.querySelector("[role=status]").textContent, shared], ["http://box.test/p", ["http://box.test/p"], "Copied", 1]);
});

test("a refusal is told in the form", async () => {
  answering(() => refusing(403, "port 5173 is an editor's"));
  submit();
  await settled();
  assert.deepEqual([row.querySelector("[role=alert]").textContent, shared], ["port 5173 is an editor's", 0]);
});
