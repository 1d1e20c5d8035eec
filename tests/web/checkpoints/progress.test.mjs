// The line that counts the seconds.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";

openDocument();
location.search = "?lang=en";
const { ProgressLine } = await import("/static/checkpoints/progress.js");

test("it counts while something goes on, and is empty after it, also where that fails", async () => {
  mock.timers.enable({ apis: ["setInterval"] });
  const line = new ProgressLine(document.createElement("p"));
  let end = (/** @type {string} */ _) => {};
  const done = line.during("going", () => new Promise((resolve) => (end = resolve)));
  mock.timers.tick(2000);
  assert.equal(line.place.textContent, "Going back… 2 s");
  end("x");
  assert.equal(await done, "x");
  assert.equal(line.place.textContent, "");
  await assert.rejects(line.during("making", () => Promise.reject(new Error("no"))), /no/);
  assert.equal(line.place.textContent, "");
  line.show("bad", true);
  assert.deepEqual([line.place.textContent, line.place.className], ["bad", "problem"]);
});
