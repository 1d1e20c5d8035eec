// Tabs of code: chosen by mouse and keyboard, and copied.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { globals, openDocument } from "../browser/dom.mjs";
import { settled } from "../browser/network.mjs";

const body = openDocument();
const { CodeTabs } = await import("/static/home/code_tabs.js");

/** @type {any} */
let section;
/** @type {any} */
let tabsOfCode;

beforeEach(() => {
  section = document.createElement("section");
  section.innerHTML = '<div role="tablist"></div><pre><code></code></pre><button class="copy"></button>';
  body.replaceChildren(section);
  tabsOfCode = new CodeTabs(section, { curl: "curl …", Python: "import …", MCP: "{…}" });
});

const code = () => section.querySelector("code").textContent;
const tabs = () => section.querySelectorAll("[role=tab]");
/** @param {string} key */
const press = (key) => section.querySelector("[role=tablist]").dispatchEvent(Object.assign(new Event("keydown"), { key }));

test("the first tab is chosen, and another by a click", () => {
  assert.equal(code(), "curl …");
  tabs()[2].click();
  assert.equal(code(), "{…}");
  assert.deepEqual(tabs().map((tab) => [tab.getAttribute("aria-selected"), tab.getAttribute("tabindex")]), [["false", "-1"], ["false", "-1"], ["true", "0"]]);
});

test("the arrow keys go round, and take the focus along", () => {
  press("ArrowLeft");
  assert.equal(code(), "{…}");
  press("ArrowRight");
  press("ArrowRight");
  press("Enter");
  assert.deepEqual([code(), document.activeElement], ["import …", tabs()[1]]);
});

test("the code is copied, or selected where the page has no clipboard", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const copied = [];
  const button = section.querySelector(".copy");
  globals({ navigator: { clipboard: { writeText: async (text) => void copied.push(text) } } });
  button.click();
  await settled();
  assert.deepEqual([copied, button.textContent], [["curl …"], "Copied"]);
  t.mock.timers.tick(1500);
  assert.equal(button.textContent, "Copy");

  const selected = [];
  globals({ navigator: {}, getSelection: () => ({ selectAllChildren: (element) => selected.push(element.textContent) }) });
  button.click();
  await settled();
  assert.deepEqual([selected, button.textContent], [["curl …"], "Selected"]);
});

test("other code is shown under the tab that is chosen", () => {
  tabs()[1].click();
  tabsOfCode.fill({ curl: "curl 2", Python: "import 2", MCP: "{2}" });
  assert.deepEqual([code(), tabs()[1].getAttribute("aria-selected")], ["import 2", "true"]);
});
