// The ports: each opens as a page, and is shared by a link.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

openDocument();
const { PortList } = await import("/static/home/port_list.js");
const VITE = { port: 5173, process: { command: "vite" }, url: "" };

/** @type {any} */
let list;

beforeEach(() => (list = document.createElement("ul")));

/** @param {(method: string, path: string) => any} answer */
async function watching(answer) {
  const asked = answering(answer);
  new PortList(list).watch();
  await settled();
  return asked;
}

test("a port is a link to its page, with the program that listens", async () => {
  await watching(() => ({ ports: [VITE, { port: 8000, process: null, url: "" }] }));
  assert.deepEqual(list.querySelectorAll("a").map(({ href, textContent, rel }) => [href, textContent, rel]), [["/proxy/5173/", "5173", "noopener"], ["/proxy/8000/", "8000", "noopener"]]);
  assert.deepEqual(list.querySelectorAll("small").map(({ textContent }) => textContent), ["vite"]);
});

test("an empty list, a refusal and silence are told apart", async () => {
  await watching(() => ({ ports: [] }));
  assert.equal(list.textContent, "Nothing listens");
  await watching(() => refusing(403, "no"));
  assert.equal(list.textContent, "You may not see these");
  await watching(() => refusing(503, "no"));
  assert.equal(list.textContent, "Not answering");
});

test("the list is asked for again when the page gets the focus, and drawn again if it has changed", async () => {
  const asked = await watching(() => ({ ports: [VITE] }));
  const row = list.firstElementChild;
  dispatchEvent(new Event("focus"));
  await settled();
  assert.equal(asked.filter(({ path }) => path === "/v1/ports").length >= 2, true);
  assert.equal(list.firstElementChild, row);
});

test("a port is shared by a link that is shown and copied; a refusal is the button's text", async () => {
  const copied = [];
  globals({ navigator: { clipboard: { writeText: async (text) => void copied.push(text) } } });
  const asked = await watching((_, path) => (path.endsWith("/share") ? { url: "http://box.test/p" } : { ports: [VITE] }));
  const button = list.querySelector("button");
  button.click();
  await settled();
  assert.deepEqual(asked.at(-1), { method: "POST", path: "/v1/ports/5173/share", body: { ttl: 3600 } });
  assert.deepEqual([list.querySelector("code").textContent, copied, button.textContent], ["http://box.test/p", ["http://box.test/p"], "Copied"]);
  answering(() => refusing(403, "that needs the scope shell"));
  button.click();
  await settled();
  assert.equal(button.textContent, "that needs the scope shell");
});
