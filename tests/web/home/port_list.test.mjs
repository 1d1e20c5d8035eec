// The ports: each opens as a page, with the program that listens.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

openDocument();
const { PortList } = await import("/static/home/port_list.js");
const VITE = { port: 5173, process: { command: "vite" }, url: "" };

/** @type {any} */
let list;
/** @type {any} */
let ports;

beforeEach(() => {
  list = document.createElement("ul");
  ports = new PortList(list, () => {});
});

test("a port is a link to its page, with the program that listens", () => {
  ports.show([VITE, { port: 8000, process: null, url: "" }]);
  assert.deepEqual(list.querySelectorAll("a").map(({ href, textContent, rel }) => [href, textContent, rel]), [["/proxy/5173/", "5173", "noopener"], ["/proxy/8000/", "8000", "noopener"]]);
  assert.deepEqual(list.querySelectorAll("small").map(({ textContent }) => textContent), ["vite", ""]);
});

test("an empty list says how a port gets there", () => {
  ports.show([]);
  assert.equal(list.textContent, "No ports open yet. Start a server, and it appears here.");
  ports.show([VITE]);
  assert.equal(list.children.length, 1);
});

test("a port that stays keeps its row with what is open in it, and one that closes goes", async () => {
  ports.show([VITE]);
  const [row] = list.children;
  row.querySelector("button").onclick();
  await settled();
  ports.show([{ port: 3000, process: null, url: "" }, { ...VITE, process: { command: "vite --host" } }]);
  assert.deepEqual([list.children[1], row.querySelector("form") !== null, row.querySelector("small").textContent], [row, true, "vite --host"]);
  ports.show([]);
  assert.equal(list.querySelector("a"), null);
});

test("the text of a link that was revoked goes, and no other", () => {
  ports.show([VITE]);
  for (const id of ["one", "two"]) list.children[0].append(Object.assign(document.createElement("div"), { textContent: id }));
  list.querySelectorAll("div").forEach((made) => (made.dataset.share = made.textContent));
  ports.forget("one");
  assert.deepEqual(list.querySelectorAll("[data-share]").map(({ textContent }) => textContent), ["two"]);
});
