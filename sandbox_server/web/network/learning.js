// Learning: begin it, see the policy that it proposes, use it or forget it.

import { button, element } from "/static/checkpoints/elements.js";
import { plainText } from "/static/requests/plain_text.js";
import { differenceList } from "./difference_list.js";
import { changePolicy, EgressError, forgetProposal, readPolicy, readProposal, writePolicy } from "./network_client.js";
import { differenceOf } from "./policy_difference.js";
import { translate } from "./strings.js";

/** @typedef {import("./network_client.js").EgressStatus} EgressStatus */
/** @typedef {import("./network_client.js").PolicyState} PolicyState */

const MAX_MESSAGE = 300;

export class Learning {
  element = element("div", "learning");
  tools = element("div", "tools");
  proposal = element("div", "proposal");
  said = element("p", "said");
  #shown = "";

  /** @param {() => Promise<void>} changed when the policy is another one */
  constructor(changed) {
    this.changed = changed;
    this.said.setAttribute("role", "status");
    this.proposal.hidden = true;
    this.element.append(this.tools, this.proposal, this.said);
  }

  /** @param {EgressStatus} status */
  show({ mode, learned, running }) {
    const now = JSON.stringify([mode, learned > 0, running]);
    if (now === this.#shown) return;
    this.#shown = now;
    this.element.hidden = !running;
    const learns = mode === "learn";
    const begin = button(translate("learn"), () => this.#run(() => this.#change({ mode: "learn", default: "deny" })));
    begin.title = translate("learnAbout");
    this.tools.replaceChildren(
      ...(learned ? [button(translate("seeProposal"), () => this.#run(() => this.#showProposal()), "small")] : []),
      ...(learns ? [button(translate("stopLearning"), () => this.#run(() => this.#change({ mode: "enforce" })))] : [begin]),
      ...(learned ? [button(translate("forget"), () => this.#run(() => this.#forget()))] : []),
    );
    if (!learned) this.proposal.hidden = true;
  }

  /** @param {object} changes */
  async #change(changes) {
    const { etag } = await readPolicy();
    await changePolicy(changes, etag);
    await this.changed();
  }

  async #forget() {
    await forgetProposal();
    this.proposal.hidden = true;
    await this.changed();
  }

  async #showProposal() {
    const [now, { policy }] = await Promise.all([readPolicy(), readProposal()]);
    const use = button(translate("usePolicy"), () => this.#run(() => this.#use(JSON.stringify(policy), now)), "small");
    const close = button(translate("cancel"), () => (this.proposal.hidden = true));
    const tools = element("div", "tools");
    tools.append(use, close);
    this.proposal.replaceChildren(element("h3", "", translate("proposal")), differenceList(differenceOf(now.policy, policy)), tools);
    this.proposal.hidden = false;
    use.focus();
  }

  /** @param {string} text @param {PolicyState} seen the one that the proposal was compared with */
  async #use(text, { etag }) {
    try {
      await writePolicy(text, etag);
    } catch (error) {
      if (!(error instanceof EgressError) || error.status !== 412) throw error;
      await this.#showProposal();
      return this.#tell(translate("proposalOld"));
    }
    this.proposal.hidden = true;
    this.#tell(translate("proposalUsed"));
    return this.changed();
  }

  /** @param {() => Promise<void>} act */
  async #run(act) {
    this.#tell("");
    try {
      await act();
    } catch (error) {
      this.#tell(translate("failed", { reason: plainText(/** @type {Error} */ (error).message, MAX_MESSAGE) }));
    }
  }

  /** @param {string} text */
  #tell(text) {
    this.said.textContent = text;
  }
}
