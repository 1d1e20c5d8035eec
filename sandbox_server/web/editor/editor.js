// The page that starts an editor: opens it once it runs, or shows why it does not.

import { fill } from "/static/strings.js";
import { translate } from "./strings.js";

const NAMES = { jupyter: "JupyterLab", "code-server": "code-server" };

const name = location.search.slice(1);

/**
 * Show the progress.
 * @param {string} title
 * @param {string} state
 * @param {string} [hint]
 */
function show(title, state, hint = "") {
  for (const [id, text] of Object.entries({ title, state, hint })) {
    const element = document.getElementById(id);
    if (element) element.textContent = text;
  }
}

async function start() {
  const title = NAMES[/** @type {keyof typeof NAMES} */ (name)] ?? name;
  show(translate("startingNamed", { name: title }), translate("patience"));
  const response = await fetch(`/v1/editors/${encodeURIComponent(name)}/start`, { method: "POST", headers: { Accept: "application/json" } });
  const answer = await response.json().catch(() => null);
  if (response.ok) location.replace(answer.data.preview);
  else show(translate("failed", { name: title }), answer?.message ?? translate("answered", { status: response.status }), answer?.hint ?? "");
}

fill(document, translate);
start().catch(() => show(translate("silent"), translate("reload")));
