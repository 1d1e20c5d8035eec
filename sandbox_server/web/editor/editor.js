// The page that starts an editor: opens it once it runs, or shows why it does not.

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
  show(`Starting ${title}…`, "This takes some seconds. The page opens by itself.");
  const response = await fetch(`/v1/editors/${encodeURIComponent(name)}/start`, { method: "POST", headers: { Accept: "application/json" } });
  const answer = await response.json().catch(() => null);
  if (response.ok) location.replace(answer.data.preview);
  else show(`${title} does not run`, answer?.message ?? `the sandbox answered ${response.status}`, answer?.hint ?? "");
}

start().catch(() => show("The sandbox does not answer", "Reload the page to try again."));
