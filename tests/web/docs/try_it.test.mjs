// Try it: the form of an operation, the request that it sends, and how the response is shown.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";
import { TEMPLATE, find } from "./operations.mjs";

const body = openDocument();
const { TryIt } = await import("/static/docs/try_it.js");

/** @type {{path: string, options: any}[]} */
let asked = [];
/** @type {any} */
let form;

beforeEach(() => (asked = []));

/** @param {string} id @param {(path: string, options: any) => Promise<Response> | Response} answer */
function trying(id, answer) {
  const page = document.createElement("template");
  page.innerHTML = TEMPLATE;
  form = page.querySelector(".try form");
  form.elements = { namedItem: (name) => form.querySelectorAll("input, select, textarea").find((input) => input.getAttribute("name") === name) };
  body.replaceChildren(form);
  globals({ fetch: async (path, options) => (asked.push({ path, options }), answer(path, options)) });
  return new TryIt(form, find(id));
}

/** @param {Record<string, any>} values by field */
async function send(values) {
  for (const [name, value] of Object.entries(values)) Object.assign(form.elements.namedItem(`field ${name}`), value instanceof File ? { files: [value] } : { value });
  form.dispatchEvent(new Event("submit", { cancelable: true }));
  await settled();
}
const outcome = () => form.querySelector(".outcome").textContent;
const result = () => form.querySelector(".result");

test("each field has an input of its kind", () => {
  trying("shell/exec_command", () => new Response());
  const kind = (name) => form.elements.namedItem(`field ${name}`).localName;
  assert.deepEqual([kind("command"), kind("truncate")], ["textarea", "select"]);
  assert.equal(form.elements.namedItem("field timeout").getAttribute("type"), "number");
  assert.equal(form.elements.namedItem("field command").hasAttribute("required"), true);
});

test("the example is filled in, so that it can be sent at once", async () => {
  trying("handoffs/request_human", () => Response.json({ success: true }));
  assert.equal(form.elements.namedItem("field reason").value, "Shall I go on?");
  await send({});
  assert.deepEqual(JSON.parse(asked[0].options.body), { reason: "Shall I go on?" });
});

test("what was filled in is sent as JSON, each value with its type, and the rest is left out", async () => {
  trying("shell/exec_command", () => Response.json({ success: true }));
  await send({ command: "ls", timeout: "2.5", truncate: "false" });
  const [{ path, options }] = asked;
  assert.deepEqual([path, options.method, options.headers], ["/v1/shell/exec", "POST", { Accept: "*/*", "Content-Type": "application/json" }]);
  assert.deepEqual(JSON.parse(options.body), { command: "ls", timeout: 2.5, truncate: false });
  assert.match(outcome(), /^200 .*after \d+ ms$/);
  assert.equal(result().textContent, '{\n  "success": true\n}');
});

test("a value that is not of its type is refused by its name, and nothing is sent", async () => {
  trying("shell/exec_command", () => Response.json({}));
  await send({ command: "ls", timeout: "soon" });
  assert.deepEqual([asked.length, outcome()], [0, "timeout has to be JSON: number"]);
});

test("a query goes into the address, a file into a form", async () => {
  trying("file/download_file", () => new Response("bytes", { headers: { "content-type": "application/octet-stream" } }));
  await send({ path: "/tmp/a b" });
  assert.equal(asked[0].path, "/v1/file/download?path=%2Ftmp%2Fa+b");
  assert.equal(result().querySelector("a").textContent, "Save 5 bytes");

  trying("file/upload_file", () => Response.json({}));
  await send({ file: new File(["x"], "x.txt") });
  assert.equal(asked[1].options.body.get("file").name, "x.txt");
});

test("events are shown as they come, where they are asked for", async () => {
  const chunks = ["data: 1\n\n", "data: 2\n\n"];
  const stream = new ReadableStream({ pull: (to) => (chunks.length ? to.enqueue(new TextEncoder().encode(chunks.shift())) : to.close()) });
  trying("shell/exec_command", () => new Response(stream, { headers: { "content-type": "text/event-stream" } }));
  form.querySelector("[name=follow]").checked = true;
  await send({ command: "ls" });
  assert.equal(asked[0].options.headers.Accept, "text/event-stream");
  assert.equal(result().textContent, "data: 1\n\ndata: 2\n\n");
});

test("a long response is shown in part, and says how much is missing", async () => {
  trying("shell/exec_command", () => new Response("x".repeat(200_010), { headers: { "content-type": "text/plain" } }));
  await send({ command: "ls" });
  assert.equal(result().textContent.length, 200_000 + "\n… and 10 characters more".length);
});

test("a request is stopped by its button, and by another operation", async () => {
  const never = (_, { signal }) => new Promise((__, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  const trial = trying("shell/exec_command", never);
  await send({ command: "sleep" });
  assert.deepEqual([outcome(), form.querySelector(".stop").hidden], ["Sending…", false]);
  form.querySelector(".stop").click();
  await settled();
  assert.deepEqual([outcome(), form.querySelector(".stop").hidden], ["Stopped", true]);
  await send({ command: "sleep" });
  await send({ command: "again" });
  assert.deepEqual(asked.map(({ options }) => options.signal.aborted), [true, true, false], "one request at a time");
  trial.close();
  await settled();
  assert.equal(outcome(), "Stopped");
});
