// The policy as JSON in a plain editor. What is wrong is told where it is, and what somebody else changed meanwhile loses nothing.

import { button, element } from "/static/checkpoints/elements.js";
import { plainText } from "/static/requests/plain_text.js";
import { JsonSyntaxError, lineOf, placeOf, placesOf } from "./json_place.js";
import { EgressError, readPolicy, writePolicy } from "./network_client.js";
import { differenceOf } from "./policy_difference.js";
import { differenceList } from "./difference_list.js";
import { translate, translateCount } from "./strings.js";

/** @typedef {import("./network_client.js").PolicyState} PolicyState */
/** @typedef {import("./network_client.js").FieldError} FieldError */

const MAX_MESSAGE = 300;

/** @param {PolicyState} state */
const written = ({ policy }) => `${JSON.stringify(policy, null, 2)}\n`;

export class PolicyEditor {
  /** @type {PolicyState | undefined} the one that is edited */
  #base;
  #saving = false;
  element = element("div", "editor");
  text = Object.assign(document.createElement("textarea"), { id: "policy-text", spellcheck: false, rows: 16, autocapitalize: "off", wrap: "off" });
  said = element("p", "said");
  problems = element("ol", "problems");
  conflict = element("div", "conflict");
  save = button(translate("save"), () => this.#save(), "small");
  discard = button(translate("discard"), () => this.#reset(), "quiet small");

  /** @param {(state: PolicyState) => void} saved */
  constructor(saved) {
    this.saved = saved;
    this.said.setAttribute("role", "status");
    this.text.setAttribute("aria-describedby", "policy-said");
    this.said.id = "policy-said";
    this.conflict.hidden = true;
    this.text.oninput = () => this.#changed();
    const label = Object.assign(document.createElement("label"), { htmlFor: "policy-text", textContent: translate("policyJson") });
    label.setAttribute("for", "policy-text");
    const tools = element("div", "tools");
    tools.append(this.save, this.discard);
    this.element.append(label, this.text, this.problems, this.conflict, tools, this.said);
    this.#changed();
  }

  /** Whether there is something that is not saved. */
  get isDirty() {
    return this.#base !== undefined && this.text.value !== written(this.#base);
  }

  /** Show the policy as it is now; what somebody has written here stays. @param {PolicyState} state */
  show(state) {
    if (this.#base?.etag === state.etag) return;
    if (this.isDirty) return this.#showConflict(state);
    this.#base = state;
    this.#reset();
  }

  #reset() {
    if (!this.#base) return;
    this.text.value = written(this.#base);
    this.conflict.hidden = true;
    this.#tell("");
    this.#showProblems([]);
    this.#changed();
  }

  #changed() {
    this.save.disabled = this.discard.disabled = this.#saving || !this.isDirty;
  }

  async #save() {
    const text = this.text.value;
    const wrong = syntaxProblem(text);
    if (wrong) return this.#showProblems([wrong]);
    if (!this.#base) return undefined;
    this.#saving = true;
    this.#changed();
    this.#tell(translate("saving"));
    try {
      const state = await writePolicy(text, this.#base.etag);
      this.#base = state;
      if (this.text.value === text) this.text.value = written(state); // what is written meanwhile stays
      this.conflict.hidden = true;
      this.#showProblems([]);
      this.#tell(state.cut ? translateCount("savedCut", state.cut) : translate("saved"));
      this.saved(state);
    } catch (error) {
      await this.#explain(/** @type {Error} */ (error));
    } finally {
      this.#saving = false;
    }
    return this.#changed();
  }

  /** @param {Error} error */
  async #explain(error) {
    this.#tell("");
    if (error instanceof EgressError && error.status === 412) return this.#showConflict(await readPolicy());
    if (error instanceof EgressError && error.errors.length) {
      return this.#showProblems(error.errors.map(({ pointer, message }) => ({ ...placeOf(this.text.value, pointer), pointer, message })));
    }
    return this.#tell(translate("failed", { reason: plainText(error.message, MAX_MESSAGE) }));
  }

  /** What somebody else changed since; the text here stays until one decides. @param {PolicyState} now */
  #showConflict(now) {
    const before = /** @type {PolicyState} */ (this.#base);
    const keep = button(translate("keepMine"), () => this.#rebase(now), "small");
    const take = button(translate("takeTheirs"), () => {
      this.#base = now;
      this.#reset();
    });
    const tools = element("div", "tools");
    tools.append(keep, take);
    this.conflict.setAttribute("role", "alert");
    this.conflict.hidden = false;
    this.conflict.replaceChildren(element("p", "", translate("conflict")), differenceList(differenceOf(before.policy, now.policy)), tools);
  }

  /** Save what is written here over what is there now. @param {PolicyState} now */
  #rebase(now) {
    this.#base = now;
    this.conflict.hidden = true;
    return this.#save();
  }

  /** @param {{start: number, end: number, pointer: string, message: string}[]} problems */
  #showProblems(problems) {
    this.problems.replaceChildren(...problems.map(({ start, end, pointer, message }) => {
      const where = translate("line", { line: lineOf(this.text.value, start) });
      const item = element("li", "problem");
      item.append(button(where, () => this.#select(start, end)), ` ${plainText([pointer, message].filter(Boolean).join(": "), MAX_MESSAGE)}`);
      return item;
    }));
    this.text.setAttribute("aria-invalid", String(problems.length > 0));
    if (problems.length) {
      this.#tell(translateCount("wrong", problems.length));
      this.#select(problems[0].start, problems[0].end);
    }
  }

  /** @param {number} start @param {number} end */
  #select(start, end) {
    this.text.focus();
    this.text.setSelectionRange(start, end);
    const height = this.text.scrollHeight / Math.max(1, this.text.value.split("\n").length);
    this.text.scrollTop = Math.max(0, (lineOf(this.text.value, start) - 4) * height);
  }

  /** @param {string} text */
  #tell(text) {
    this.said.textContent = text;
  }
}

/** Where a text is no JSON. @param {string} text */
export function syntaxProblem(text) {
  try {
    placesOf(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const start = Math.min(error.at, text.length);
    return { start, end: Math.min(start + 1, text.length), pointer: "", message: translate("notJson") };
  }
}
