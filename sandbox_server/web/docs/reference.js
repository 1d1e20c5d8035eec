// The main part of the API reference: one operation, or the list of tools.

import { CodeTabs } from "/static/home/code_tabs.js";
import { codeSamples } from "/static/docs/code_samples.js";
import { element, paragraphs, withCode } from "/static/docs/elements.js";
import { fieldList } from "/static/docs/field_list.js";
import { translate } from "/static/docs/strings.js";
import { fill } from "/static/strings.js";
import { SDK } from "/static/docs/sdk.js";
import { TryIt } from "/static/docs/try_it.js";

/** @typedef {import("/static/docs/openapi.js").Operation} Operation */
/** @typedef {import("/static/docs/openapi.js").Group} Group */

export class Reference {
  /**
   * @param {HTMLElement} main
   * @param {HTMLTemplateElement} template
   */
  constructor(main, template) {
    this.main = main;
    this.template = template;
    /** @type {TryIt | null} */
    this.trial = null;
  }

  /** @param {Operation} operation */
  show(operation) {
    this.trial?.close();
    const made = /** @type {DocumentFragment} */ (this.template.content.cloneNode(true));
    const find = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (made.querySelector(selector));
    fill(made, translate);
    find(".tag").textContent = operation.tag;
    find(".summary").append(...withCode(operation.summary));
    find(".verb").textContent = operation.verb;
    find(".verb").classList.add(operation.verb.toLowerCase());
    find(".path").textContent = operation.path;
    find(".marks").append(...marks(operation));
    find(".description").append(...paragraphs(operation.description));
    this.#fields(find(".parameters"), operation.fields, true);
    this.#fields(find(".answer"), operation.answer, false);
    find(".answer").hidden = false; // its type is shown even where it has no fields
    find(".media").append(...withCode(answerWords(operation)));
    new CodeTabs(find(".snippets"), codeSamples(operation, location.origin, SDK[operation.tag]?.includes(operation.name) ?? false));
    this.trial = new TryIt(/** @type {HTMLFormElement} */ (find(".try form")), operation);
    this.main.replaceChildren(made);
    document.title = `${operation.name} · API · Tandem`;
  }

  /** @param {Group[]} groups */
  showAll(groups) {
    this.trial?.close();
    const operations = groups.flatMap((group) => group.operations);
    const tools = operations.filter((operation) => operation.tool);
    this.main.replaceChildren(
      element("h3", { text: translate("pick") }),
      element("p", { text: translate("counted", { count: operations.length, tools: tools.length }) }),
      ...paragraphs(translate("about")),
      ...paragraphs(translate("envelope")),
      element("div", { class: "groups" }, ...groups.map(groupCard)),
      element("details", { class: "card" }, element("summary", { text: `${translate("tools")} · ${tools.length}` }), element("ul", { class: "tools" }, ...tools.map(toolEntry))),
    );
    document.title = "API · Tandem";
  }

  /**
   * @param {HTMLElement} section
   * @param {Operation["fields"]} fields
   * @param {boolean} asked
   */
  #fields(section, fields, asked) {
    section.hidden = fields.length === 0;
    /** @type {HTMLElement} */ (section.querySelector(".fields")).replaceChildren(fieldList(fields, { asked }));
  }
}

/** @param {Group} group */
function groupCard({ name, description, operations }) {
  const links = operations.map(({ id, name: operation, summary }) => element("a", { href: `#${id}`, title: summary, text: operation }));
  return element("section", { class: "card group" }, element("h2", { text: name }), element("p", { text: description }), element("p", { class: "links" }, ...links));
}

/** @param {Operation} operation */
function toolEntry({ id, tool, summary }) {
  return element("li", {}, element("a", { href: `#${id}` }, element("code", { text: tool ?? "" })), " ", ...withCode(summary));
}

/** @param {Operation} operation */
function marks(operation) {
  const words = [
    operation.scope === "public" ? "needs no sign-in" : operation.scope === "any" ? "any caller" : `scope ${operation.scope}`,
    operation.decides ? "left to people and the owner's key" : "",
    operation.readOnly ? "reads only" : "",
    operation.destructive ? "destructive" : "",
    operation.streams ? "can stream events" : "",
    operation.tool ? `tool ${operation.tool}` : "",
    ...operation.aliases.map((alias) => `alias ${alias}`),
  ];
  return words.filter(Boolean).map((text) => element("span", { class: "mark", text }));
}

/** @param {Operation} operation */
function answerWords(operation) {
  const json = operation.mediaTypes.includes("application/json");
  const types = operation.mediaTypes.map((type) => (type === "application/json" && json ? `${operation.answerType}, as ${type}` : type));
  return [...types, ...(operation.enveloped ? [translate("inData")] : [])].join(" · ");
}
