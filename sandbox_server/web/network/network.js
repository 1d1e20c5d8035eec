// <tandem-network>: what the sandbox connects to, live, and what may be done about it. With the attribute `manages` for who manages the
// sandbox; without it, the state of the policy is all that there is.

import { button, element } from "/static/checkpoints/elements.js";
import { when } from "/static/checkpoints/format.js";
import { plainText } from "/static/requests/plain_text.js";
import { revealed } from "/static/requests/revealed.js";
import { person } from "/static/strings.js";
import { groupsOf, MAX_KEPT, merged } from "./connection_groups.js";
import { ConnectionList } from "./connection_list.js";
import { Learning } from "./learning.js";
import { makeGrant, readConnections, readPolicy, readStatus, revokeGrant } from "./network_client.js";
import { PolicyEditor } from "./policy_editor.js";
import { policySentence } from "./policy_sentence.js";
import { translate } from "./strings.js";

/** @typedef {import("./connection_groups.js").HostGroup} HostGroup */
/** @typedef {import("./connection_list.js").Choice} Choice */
/** @typedef {import("./network_client.js").Connection} Connection */
/** @typedef {import("./network_client.js").EgressNews} EgressNews */
/** @typedef {import("./network_client.js").EgressStatus} EgressStatus */
/** @typedef {import("./network_client.js").Grant} Grant */
/** @typedef {import("./network_client.js").PolicyState} PolicyState */
/** @typedef {import("../bar/bar.js").TandemBar} TandemBar */

const RETRY_MS = 5000;
const MAX_MESSAGE = 300;
const MAX_HOST = 120;
/** What each choice makes, and what is said of it. */
const CHOICES = /** @type {const} */ ({
  allow: { action: "allow", duration: "task", said: "allowedTask" },
  always: { action: "allow", duration: "always", said: "allowedAlways" },
  deny: { action: "deny", duration: "always", said: "deniedAlways" },
});
/** What a status says of the policy. */
const OF_POLICY = /** @type {const} */ (["mode", "default", "rules", "grants", "running"]);

export class TandemNetwork extends HTMLElement {
  /** @type {EgressStatus | undefined} */
  status;
  /** @type {PolicyState | undefined} */
  policy;
  /** @type {Connection[]} the newest first */
  connections = [];
  #drawing = false;
  /** Grows with every reading of the policy, so that an answer that is overtaken counts no more. */
  #reading = 0;
  #shown = 0;
  /** @type {PolicyEditor | undefined} */
  #editor;
  sentence = element("p", "state policy");
  problem = element("p", "problem");
  grants = element("ul", "grants");
  hosts = element("ul", "hosts");
  empty = element("p", "muted", translate("noConnections"));
  said = element("p", "said");
  learning = new Learning(() => this.#readPolicy());
  list = new ConnectionList(this.hosts, (group, choice) => this.#choose(group, choice));

  connectedCallback() {
    if (this.childElementCount) return;
    this.#build();
    if (this.manages) {
      this.bar?.addEventListener("egress", (event) => this.#take(/** @type {CustomEvent} */ (event).detail));
      this.bar?.addEventListener("handoffs", () => this.#drawSoon());
      addEventListener("focus", () => this.#readPolicy().catch(() => {}));
    }
    this.refresh();
  }

  get manages() {
    return this.hasAttribute("manages");
  }

  /** @returns {TandemBar | null} */
  get bar() {
    return document.querySelector("tandem-bar");
  }

  /** Read everything, and again where nothing answers. */
  async refresh() {
    try {
      this.status = await readStatus();
      if (this.manages && this.status.enabled) {
        await this.#readPolicy();
        this.connections = merged(await readConnections(MAX_KEPT), this.connections);
      }
      this.#draw();
    } catch (error) {
      if (this.status) this.#draw();
      else this.sentence.textContent = plainText(/** @type {Error} */ (error).message, MAX_MESSAGE);
      setTimeout(() => this.isConnected && this.refresh(), RETRY_MS);
    }
  }

  #build() {
    const title = element("h2", "", translate("network"));
    title.id = "network-title";
    this.setAttribute("role", "region");
    this.setAttribute("aria-labelledby", title.id);
    this.sentence.setAttribute("role", "status");
    this.said.setAttribute("role", "status");
    this.sentence.textContent = translate("loading");
    const card = element("div", "card stack");
    card.append(this.sentence, this.problem);
    if (this.manages) card.append(this.learning.element, this.grants, this.said, this.empty, this.hosts, this.#editing());
    this.append(title, card);
  }

  #editing() {
    const details = document.createElement("details");
    details.append(element("summary", "", translate("editPolicy")));
    details.addEventListener("toggle", async () => {
      if (!details.open) return;
      this.#editor ??= new PolicyEditor((state) => this.#showPolicy(state, ++this.#reading));
      if (!this.#editor.element.isConnected) details.append(this.#editor.element);
      await this.#readPolicy().catch((error) => this.#tell(translate("failed", { reason: error.message })));
    });
    return details;
  }

  /** @param {EgressNews} news */
  #take({ status, connections, left_out: missed }) {
    const changed = OF_POLICY.some((name) => this.status?.[name] !== status[name]);
    this.status = status;
    this.connections = merged(this.connections, connections);
    if (missed) this.refresh();
    else if (changed) this.#readPolicy().catch(() => {});
    this.#drawSoon();
  }

  async #readPolicy() {
    const reading = ++this.#reading;
    this.#showPolicy(await readPolicy(), reading);
  }

  /** @param {PolicyState} state @param {number} reading */
  #showPolicy(state, reading) {
    if (reading < this.#shown) return; // a later answer was there before
    this.#shown = reading;
    this.policy = state;
    this.#editor?.show(state);
    this.#showGrants(state.grants);
    this.#drawSoon();
  }

  /** Draw at most once a frame, however much happens. */
  #drawSoon() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw() {
    if (!this.status) return;
    const { text, tone } = policySentence(this.status, this.policy?.policy);
    if (this.sentence.textContent !== text) this.sentence.textContent = text;
    this.sentence.className = `state policy ${tone}`;
    this.problem.hidden = !this.status.problem;
    this.problem.textContent = this.status.problem ? translate("problem", { reason: plainText(this.status.problem, MAX_MESSAGE) }) : "";
    if (!this.manages) return;
    const groups = groupsOf(this.connections, this.bar?.handoffs ?? []);
    this.list.show(groups);
    this.empty.hidden = groups.length > 0 || !this.status.enabled;
    this.learning.show(this.status);
  }

  /** @param {Grant[]} grants */
  #showGrants(grants) {
    this.grants.hidden = !grants.length;
    this.grants.replaceChildren(...grants.map((grant) => {
      const { id, action, host, port, until, task, by } = grant;
      const place = port ? `${revealed(host, MAX_HOST)}:${port}` : revealed(host, MAX_HOST);
      const item = element("li");
      const end = button(translate("end"), () => this.#revoke(id, end));
      end.setAttribute("aria-label", translate("endHost", { host: place }));
      const about = [until ? translate("until", { time: when(until) }) : "", task ? translate("inTask", { task: revealed(task, MAX_HOST) }) : "", translate("madeBy", { name: person(by) })];
      item.append(element("span", "", translate(action === "deny" ? "grantDeny" : "grantAllow", { host: place })), " ", element("small", "muted", about.filter(Boolean).join(" · ")), end);
      return item;
    }));
  }

  /** @param {string} id @param {HTMLButtonElement} pressed */
  async #revoke(id, pressed) {
    pressed.disabled = true;
    try {
      await revokeGrant(id);
      await this.#readPolicy();
    } catch (error) {
      pressed.disabled = false;
      this.#tell(translate("failed", { reason: plainText(/** @type {Error} */ (error).message, MAX_MESSAGE) }));
    }
  }

  /** @param {HostGroup} group @param {Choice} choice @returns {Promise<string>} */
  async #choose(group, choice) {
    const { said, ...made } = CHOICES[choice];
    try {
      for (const { port, protocol } of placesOf(group)) await makeGrant({ host: group.host, port, protocol, ...made });
      this.#tell(translate(`${said}Retry`, { host: revealed(group.host, MAX_HOST) }));
      await this.#readPolicy();
      return translate(said);
    } catch (error) {
      this.#tell(translate("failed", { reason: plainText(/** @type {Error} */ (error).message, MAX_MESSAGE) }));
      return "";
    }
  }

  /** @param {string} text */
  #tell(text) {
    this.said.textContent = text;
  }
}

/** The ports of a host that a choice is about: those in the state of its newest connection. @param {HostGroup} group @returns {{port: number, protocol: string | null}[]} */
export function placesOf({ connections: [newest, ...others] }) {
  const same = [newest, ...others].filter(({ action, learned }) => action === newest.action && learned === newest.learned);
  const known = ["http", "tls", "tcp"];
  return [...new Map(same.toReversed().map(({ port, protocol }) => [port, { port, protocol: known.includes(protocol) ? protocol : null }])).values()];
}

customElements.define("tandem-network", TandemNetwork);
