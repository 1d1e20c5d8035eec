// The API reference at /v1/docs: an index of operations, and the one that the address names.

import "/static/bar/bar.js";
import { call } from "/static/api.js";
import { grouped, matching, readOperations } from "/static/docs/openapi.js";
import { element } from "/static/docs/elements.js";
import { Reference } from "/static/docs/reference.js";
import { translate } from "/static/docs/strings.js";
import { fill } from "/static/strings.js";

/** @typedef {import("/static/docs/openapi.js").Operation} Operation */
/** @typedef {import("/static/docs/openapi.js").Group} Group */

/** @template {HTMLElement} T @param {string} selector @returns {T} */
const find = (selector) => /** @type {T} */ (document.querySelector(selector));

const search = /** @type {HTMLInputElement} */ (find("#search"));
const tags = find("#tags");

/**
 * @param {any} document_
 * @param {Operation[]} operations
 * @param {Reference} page
 */
function showAddressed(document_, operations, page) {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const operation = operations.find(({ id }) => id === wanted);
  if (operation) {
    page.show(operation);
  } else {
    page.showAll(grouped(document_, operations));
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

/** @param {Group[]} groups */
function showIndex(groups) {
  tags.replaceChildren(
    ...groups.flatMap(({ name, description, operations }) => [
      element("h2", { text: name, title: description }),
      element("ul", {}, ...operations.map(entry)),
    ]),
  );
  if (!groups.length) {
    tags.replaceChildren(element("p", { class: "muted", text: translate("noMatches") }));
  }
}

/** @param {Operation} operation */
function entry(operation) {
  const verb = element("code", { class: `verb ${operation.verb.toLowerCase()}`, text: operation.verb });
  return element("li", {}, element("a", { href: `#${operation.id}`, title: `${operation.summary}\n${operation.verb} ${operation.path}` }, verb, " ", operation.name));
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
  fill(document, translate);
  const document_ = await call("GET", "/v1/openapi.json", { whole: true });
  const operations = readOperations(document_);
  const page = new Reference(find("#operation"), /** @type {HTMLTemplateElement} */ (find("#page")));
  find("#version").textContent = document_.info.version;
  showIndex(grouped(document_, operations));
  showAddressed(document_, operations, page);
  search.addEventListener("input", () => showIndex(grouped(document_, matching(operations, search.value))));
  addEventListener("hashchange", () => showAddressed(document_, operations, page));
  addEventListener("keydown", focusSearch);
}

start().catch((error) => find("#operation").replaceChildren(element("p", { class: "problem", text: error.message })));
