// The links to ports: until when each holds, and Revoke.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument, parts } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";

const body = openDocument();
const { ShareList } = await import("/static/home/share_list.js");
const LINK = { share_id: "s1", port: 3000, expires_at: Date.now() / 1000 + 3600, created_by: "owner#4fdf12", note: "" };

/** @type {any} */
let shown;
/** @type {string[]} */
let revoked = [];
/** @type {any} */
let shares;

beforeEach(() => {
  revoked = [];
  body.replaceChildren();
  shown = parts(body, { list: "ul", part: "div" });
  shares = new ShareList(shown.list, shown.part, (id) => revoked.push(id));
});

test("each link has its port, its end and who made it", () => {
  shares.show([LINK, { ...LINK, share_id: "s2", port: 8000, note: "for Tom" }]);
  assert.deepEqual(shown.list.children.map(({ textContent }) => textContent), ["Port 3000expires in 60 min · by owner · 4fdfRevoke", "Port 8000expires in 60 min · by owner · 4fdf · for TomRevoke"]);
  assert.equal(shown.part.hidden, false);
});

test("without links there is no list", () => {
  shares.show([]);
  assert.equal(shown.part.hidden, true);
});

test("a revoked link goes", async () => {
  const asked = answering((method) => (method === "DELETE" ? null : []));
  shares.show([LINK]);
  shown.list.querySelector("button").onclick();
  await settled();
  assert.deepEqual(asked.map(({ method, path }) => [method, path]), [["DELETE", "/v1/ports/shares/s1"], ["GET", "/v1/ports/shares"]]);
  assert.deepEqual([revoked, shown.list.children.length, shown.part.hidden], [["s1"], 0, true]);
});

test("a refusal is the button's text", async () => {
  answering(() => refusing(403, "this needs the scope 'code'"));
  shares.show([LINK]);
  shown.list.querySelector("button").onclick();
  await settled();
  assert.deepEqual([shown.list.querySelector("button").textContent, revoked], ["this needs the scope 'code'", []]);
});

test("links are asked for again while the page is visible", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  Object.assign(document, { hidden: false });
  const asked = answering(() => []);
  shares.watch([LINK]);
  t.mock.timers.tick(20000);
  Object.assign(document, { hidden: true });
  t.mock.timers.tick(20000);
  await settled();
  assert.deepEqual([asked.length, shown.list.children.length], [1, 0]);
});
