// <tandem-network>: the network as a whole.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { openDocument } from "../browser/dom.mjs";
import { answering, refusing, settled } from "../browser/network.mjs";
import { REACH } from "../requests/approvals.mjs";
import { ALLOWED, LEARNED, POLICY, REFUSED, state, STATUS } from "./connections.mjs";

const body = openDocument();
const { placesOf, TandemNetwork } = await import("/static/network/network.js");

/** @type {any} */
let bar;
/** @type {any} */
let network;
/** @type {any[]} */
let asked;
/** What the sandbox answers, by the last part of the address. @type {Record<string, any>} */
let answers;
/** Beside the timers of the page, which a test may drive. */
const pause = setTimeout;

beforeEach(() => {
  answers = { status: STATUS, policy: state(), connections: [REFUSED, ALLOWED], grants: { grant: null, rule: "r" } };
  asked = answering((_method, path) => answers[path.split("/")[3].split("?")[0]]);
});

/** @param {boolean} manages */
async function open(manages = true) {
  bar = Object.assign(document.createElement("tandem-bar"), { handoffs: [] });
  network = new TandemNetwork("tandem-network");
  network.toggleAttribute("manages", manages);
  body.replaceChildren(bar, network);
  network.connectedCallback();
  await drawn();
}

const drawn = async () => {
  await settled();
  await new Promise((after) => pause(after, 20));
};
const hosts = () => network.hosts.children.map((item) => [item.querySelector("bdi").textContent, item.dataset.state]);
/** @param {object} [status] @param {...any} connections */
async function tell(status = {}, ...connections) {
  bar.dispatchEvent(new CustomEvent("egress", { detail: { status: { ...STATUS, ...status }, connections, left_out: 0 } }));
  await drawn();
}

test("it says the state of the policy, and what is connected to", async () => {
  await open();
  assert.equal(network.sentence.textContent, "Only 2 hosts are allowed");
  assert.deepEqual(hosts(), [["api.example.com:443", "refused"], ["pypi.org:443", "allowed"]]);
  assert.equal(network.empty.hidden, true);
});

test("it is live: new connections, and a policy that was changed", async () => {
  await open();
  await tell({}, { ...LEARNED, id: 9, at: 3000, ended: 3001 });
  assert.deepEqual(hosts()[0], ["cdn.example.net:443", "learned"]);
  assert.equal(asked.filter(({ path }) => path.endsWith("policy")).length, 1);
  answers.policy = state({ ...POLICY, rules: [] }, '"2"');
  await tell({ rules: 0 });
  assert.equal(network.sentence.textContent, "Nothing is allowed");
});

test("who does not manage the sandbox sees the state of the policy alone", async () => {
  await open(false);
  assert.deepEqual([network.sentence.textContent, network.hosts.isConnected, asked.map(({ path }) => path)], ["Only what 1 rule allows", false, ["/v1/egress/status"]]);
});

test("a choice is made for each port that was refused, and said", async () => {
  answers.connections = [{ ...REFUSED, id: 5 }, { ...REFUSED, id: 4, port: 80, protocol: "http" }, { ...REFUSED, id: 3, port: 80, protocol: "http" }];
  await open();
  await new Promise((after) => setTimeout(after, 550));
  network.hosts.querySelectorAll("button").find(({ textContent }) => textContent === "Always allow").click();
  await drawn();
  assert.deepEqual(asked.filter(({ method }) => method === "POST").map(({ body: sent }) => sent), [
    { host: "api.example.com", port: 80, protocol: "http", action: "allow", duration: "always" }, { host: "api.example.com", port: 443, protocol: "tls", action: "allow", duration: "always" },
  ]);
  assert.equal(network.said.textContent, "api.example.com is always allowed. The program has to try again.");
});

test("a choice that is refused is told, and the row stays as it was", async () => {
  await open();
  await new Promise((after) => setTimeout(after, 550));
  answers.grants = refusing(409, "it is protected");
  network.hosts.querySelectorAll("button")[0].click();
  await drawn();
  assert.equal(network.said.textContent, "That did not work: it is protected");
  assert.equal(network.hosts.querySelectorAll("button").length, 3);
});

test("what is asked about waits", async () => {
  await open();
  bar.handoffs = [REACH];
  bar.dispatchEvent(new Event("handoffs"));
  await drawn();
  assert.deepEqual(hosts()[0], ["api.example.com:443", "waiting"]);
});

test("temporary rules are listed, and end", async () => {
  const grant = { id: "g3", action: "allow", host: "api.example.com", port: 443, until: 1e9, task: "t1", by: "ann#1234", rule: "x" };
  answers.policy = { ...state(), grants: [grant] };
  await open();
  const [item] = network.grants.children;
  assert.match(item.textContent, /^api\.example\.com:443 is allowed for a while until .* · task t1 · by ann · 1234End$/);
  answers.policy = state();
  item.querySelector("button").click();
  await drawn();
  assert.deepEqual(asked.filter(({ method }) => method === "DELETE").map(({ path }) => path), ["/v1/egress/grants/g3"]);
  assert.equal(network.grants.hidden, true);
});

test("an answer about the policy that a later one has overtaken counts no more", async () => {
  const grant = { id: "g3", action: "allow", host: "api.example.com", port: 443, until: 1e9, task: "", by: "ann#1234", rule: "x" };
  await open();
  const late = Promise.withResolvers();
  answers.policy = late.promise;
  await tell({ rules: 7 });
  answers.policy = { ...state(), grants: [grant] };
  await tell({ rules: 8 });
  assert.equal(network.grants.children.length, 1);
  late.resolve(state());
  await drawn();
  assert.equal(network.grants.children.length, 1);
});

test("where nothing is enforced it says why and lists nothing", async () => {
  answers.status = { ...STATUS, enabled: false, running: false, reason: "EGRESS=false" };
  await open();
  assert.deepEqual([network.sentence.textContent, hosts(), asked.length], ["No policy is enforced here: EGRESS=false", [], 1]);
});

test("a process that is away is told, and read again later", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  answers.status = { ...STATUS, running: false };
  answers.policy = refusing(503, "the egress process does not answer");
  await open();
  assert.equal(network.sentence.textContent, "The network is closed: the egress process does not answer.");
  Object.assign(answers, { status: STATUS, policy: state() });
  t.mock.timers.runAll();
  await drawn();
  assert.equal(network.sentence.textContent, "Only 2 hosts are allowed");
});

test("the editor is there once it is unfolded", async () => {
  await open();
  const details = network.children.at(-1).querySelectorAll("details").at(-1);
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  await drawn();
  assert.deepEqual(JSON.parse(network.querySelector("textarea").value), POLICY);
});

test("the ports of a choice are those in the state of the newest connection", () => {
  const connections = [REFUSED, { ...REFUSED, port: 53, protocol: "udp" }, { ...REFUSED, port: 80, action: "allow" }];
  assert.deepEqual(placesOf(/** @type {any} */ ({ connections })), [{ port: 53, protocol: null }, { port: 443, protocol: "tls" }]);
});
