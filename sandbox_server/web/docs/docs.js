// The API reference at /v1/docs: an index of operations, and the one that the address names.

import { call } from "/static/api.js";
import { matching, readOperations } from "/static/docs/openapi.js";
import { element } from "/static/docs/elements.js";
import { Reference } from "/static/docs/reference.js";

/** @typedef {import("/static/docs/openapi.js").Operation} Operation */

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const search = /** @type {HTMLInputElement} */ (find("#search"));
const tags = find("#tags");

/**
 * @param {Operation[]} operations
 * @param {Reference} page
 */
function showAddressed(operations, page) {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const operation = operations.find(({ id }) => id === wanted);
  if (operation) {
    page.show(operation);
  } else {
    page.showAll(operations);
  }
  for (const link of tags.querySelectorAll("a")) {
    const here = link.hash.slice(1) === operation?.id;
    link.toggleAttribute("aria-current", here);
    if (here) {
      link.scrollIntoView({ block: "nearest" });
    }
  }
  scrollTo(0, 0);
}

/** @param {Operation[]} operations */
function showIndex(operations) {
  const byTag = Map.groupBy(operations, (operation) => operation.tag);
  tags.replaceChildren(...[...byTag].flatMap(([tag, found]) => [element("h2", { text: tag }), element("ul", {}, ...found.map(entry))]));
  if (!operations.length) {
    tags.replaceChildren(element("p", { class: "muted", text: "Nothing of that name." }));
  }
}

/** @param {Operation} operation */
function entry(operation) {
  const verb = element("code", { class: `verb ${operation.verb.toLowerCase()}`, text: operation.verb });
  return element("li", {}, element("a", { href: `#${operation.id}`, title: `${operation.verb} ${operation.path}` }, verb, " ", operation.name));
}

/** @param {KeyboardEvent} event */
function focusSearch(event) {
  const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing) {
    event.preventDefault();
    search.focus();
  }
}

async function start() {
  const document_ = await call("GET", "/v1/openapi.json", { whole: true });
  const operations = readOperations(document_);
  const page = new Reference(find("#operation"), /** @type {HTMLTemplateElement} */ (find("#page")));
  find("#version").textContent = document_.info.version;
  showIndex(operations);
  showAddressed(operations, page);
  search.addEventListener("input", () => showIndex(matching(operations, search.value)));
  addEventListener("hashchange", () => showAddressed(operations, page));
  addEventListener("keydown", focusSearch);
}

start().catch((error) => find("#operation").replaceChildren(element("p", { class: "problem", text: error.message })));
