// The page that starts an editor: it opens once it runs, and says why where it does not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { globals } from "../browser/dom.mjs";
import { answering, settled } from "../browser/network.mjs";
import { openPage } from "../browser/page.mjs";

/** @type {any} */
let body;
/** @type {string[]} */
let replaced = [];

/** @param {string} name @param {() => any} answer */
async function open(name, answer) {
  replaced = [];
  body = openPage("editor");
  globals({ location: { search: `?${name}`, href: `http://box.test/static/editor/index.html?${name}`, replace: (address) => replaced.push(address) } });
  const asked = answering(answer);
  await import(`/static/editor/editor.js?${name}`);
  await settled();
  return asked;
}
const shown = () => ["title", "state", "hint"].map((id) => body.querySelector(`#${id}`).textContent);

test("an editor that runs is opened where it is", async () => {
  const asked = await open("jupyter", () => ({ preview: "http://8888-box.test/lab" }));
  assert.deepEqual(asked, [{ method: "POST", path: "/v1/editors/jupyter/start", body: undefined }]);
  assert.deepEqual([replaced, shown()[0]], [["http://8888-box.test/lab"], "Starting JupyterLab…"]);
});

test("one that does not start says why, and what to do", async () => {
  await open("code-server", () => Response.json({ success: false, message: "code-server is not installed", hint: "pull the full image" }, { status: 404 }));
  assert.deepEqual([replaced, shown()], [[], ["code-server does not run", "code-server is not installed", "pull the full image"]]);
});

test("a name from the address is a name, whatever it holds", async () => {
  const asked = await open("a%2Fb", () => new Response("", { status: 404 }));
  assert.equal(asked[0].path, "/v1/editors/a%252Fb/start");
  assert.equal(shown()[1], "the sandbox answered 404");
});

test("a sandbox that does not answer is told", async () => {
  await open("gone", () => {
    throw new TypeError("fetch failed");
  });
  assert.equal(shown()[0], "The sandbox does not answer");
});
