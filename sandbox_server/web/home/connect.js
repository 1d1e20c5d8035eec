// How an agent connects: a key that is made here, and code with it filled in.

import { AgentKeys } from "/static/home/agent_keys.js";
import { CodeTabs } from "/static/home/code_tabs.js";
import { element } from "/static/home/elements.js";
import { connectSnippets, PLACEHOLDER } from "/static/home/snippets.js";
import { translate } from "/static/home/folded_strings.js";

/** What the place holds. `key`: who reads may make keys; `none`: nobody needs one. */
const ABOUT = /** @type {const} */ ({ admin: "keyAbout", other: "keyAsk", none: "keyNone" });

/**
 * @param {HTMLElement} place
 * @param {keyof typeof ABOUT} keys
 */
export function showConnect(place, keys) {
  const tabs = element("div", { className: "line" });
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-labelledby", "connect-title");
  const code = element("pre", { tabIndex: 0 }, element("code"));
  code.setAttribute("role", "tabpanel");
  code.setAttribute("aria-label", translate("code"));
  const snippets = element("div", { className: "snippets", id: "snippets" }, tabs, code, element("button", { type: "button", className: "button quiet copy", textContent: translate("copy") }));
  const made = element("div", { id: "keys" });
  place.replaceChildren(element("p", { className: "muted", textContent: translate(ABOUT[keys]) }), made, snippets);
  const shown = new CodeTabs(snippets, connectSnippets(location.origin, PLACEHOLDER));
  if (keys !== "admin") return;
  const list = new AgentKeys(made, (key) => shown.fill(connectSnippets(location.origin, key ?? PLACEHOLDER)));
  list.refresh().catch(() => {});
}
