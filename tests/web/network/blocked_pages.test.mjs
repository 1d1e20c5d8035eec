// What the policy kept a page from.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { ALLOWED, REFUSED, STATUS } from "./connections.mjs";

openDocument();
const { BlockedPages, isByBrowser } = await import("/static/network/blocked_pages.js");

const now = () => Date.now() / 1000;
const PAGE = { ...REFUSED, session: "desktop", process: { pid: 1, command: "/usr/lib/chromium/chromium --type=utility" } };
/** @type {any} */
let notices;
/** @type {any} */
let pages;

beforeEach(() => {
  const kept = new Map();
  /** @type {string[]} */
  const said = [];
  notices = { kept, said, keep: (notice) => kept.set(notice.id, notice), drop: (id) => kept.delete(id), notify: (text) => said.push(text) };
  pages = new BlockedPages(notices);
  sandbox(() => null);
});

/** @param {...any} connections */
const take = (...connections) => pages.take({ status: STATUS, connections, left_out: 0 });
/** The address of the tab. */
let tab = "https://api.example.com/";
/** Answer for the tabs, and for all else what a function says. @param {() => any} answer */
const sandbox = (answer) => answering((_method, path) => (path === "/v1/browser/tabs" ? [{ url: tab }, { url: "about:blank" }] : answer()));
const texts = () => [...notices.kept.values()].map(({ text }) => text);
/** @param {string} text */
const act = (text) => [...notices.kept.values()].at(-1).actions.find((each) => each.text === text).act();

test("the browser's refusals are told, not those of other programs", () => {
  assert.deepEqual([PAGE, { ...PAGE, session: null }, REFUSED, { ...ALLOWED, session: "desktop" }].map(isByBrowser), [true, true, false, false]);
});

test("it names the rule, and says what Chromium calls it", async () => {
  await take({ ...PAGE, ended: now() });
  assert.deepEqual(texts(), ["api.example.com:443 was blocked by the rule “default”. Chromium may call that ERR_SSL_PROTOCOL_ERROR: the site is not broken."]);
  await take({ ...PAGE, id: 4, port: 80, protocol: "http" });
  assert.equal(texts()[1], "api.example.com:80 was blocked by the rule “default”.");
});

test("what is long past when the page opens is no news, and the same is not told at once again", async () => {
  await take({ ...PAGE, ended: now() - 60 });
  assert.deepEqual(texts(), []);
  await take({ ...PAGE, id: 4 });
  notices.kept.clear();
  await take({ ...PAGE, id: 4 }, { ...PAGE, id: 5 });
  assert.deepEqual(texts(), []);
});

test("what no tab shows is not told: a browser connects to much else", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  tab = "https://other.example/";
  const asked = sandbox(() => null);
  const told = take({ ...PAGE, ended: now() });
  for (let look = 0; look < 3; look++) {
    await settled();
    assert.equal(asked.length, look + 1);
    t.mock.timers.runAll();
  }
  await told;
  assert.deepEqual(texts(), []);
  tab = "https://api.example.com/";
});

test("it is told once a tab shows the page, which may be a while after", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  tab = "about:blank";
  const told = take({ ...PAGE, ended: now() });
  await settled();
  assert.deepEqual(texts(), []);
  tab = "https://api.example.com/";
  t.mock.timers.runAll();
  await told;
  assert.equal(texts().length, 1);
});

test("it can be allowed for the task, or always", async () => {
  const asked = sandbox(() => ({ grant: null, rule: "r" }));
  await take({ ...PAGE, ended: now() });
  await act("Always allow");
  assert.deepEqual([asked.at(-1)?.body, notices.kept.size, notices.said], [{ host: "api.example.com", port: 443, protocol: "tls", action: "allow", duration: "always" }, 0, ["api.example.com is allowed. Load the page again."]]);
});

test("what cannot be allowed is told, and stays; it can be dismissed", async () => {
  sandbox(() => refusing(409, "protected"));
  await take({ ...PAGE, ended: now() });
  await act("Allow");
  assert.deepEqual([notices.kept.size, notices.said], [1, ["That did not work: protected"]]);
  await act("Dismiss");
  assert.equal(notices.kept.size, 0);
});

test("where no rule for the host would help, none is offered", async () => {
  await take({ ...PAGE, rule: "protected", ended: now() });
  assert.deepEqual([...notices.kept.values()][0].actions.map(({ text }) => text), ["Dismiss"]);
});
