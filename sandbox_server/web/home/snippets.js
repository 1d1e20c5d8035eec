// How programs connect to this sandbox, with its own address filled in.

/**
 * @param {string} base scheme and authority of the gateway
 * @returns {Record<string, string>} text by the name of its tab
 */
export function texts(base) {
  return {
    Python: [
      "# pip install agent-sandbox",
      "from agent_sandbox import Sandbox",
      "",
      `client = Sandbox(base_url="${base}", headers={"Authorization": f"Bearer {key}"})`,
      'print(client.shell.exec_command(command="uname -a").data.output)',
    ].join("\n"),
    MCP: JSON.stringify({ mcpServers: { tandem: { type: "http", url: `${base}/mcp`, headers: { Authorization: "Bearer YOUR_KEY" } } } }, null, 2),
    curl: [
      `curl ${base}/v1/shell/exec \\`,
      '  -H "Authorization: Bearer $SANDBOX_API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d '{"command": "uname -a"}'`,
    ].join("\n"),
  };
}

export class Snippets {
  /**
   * @param {HTMLElement} section
   * @param {Record<string, string>} byName
   */
  constructor(section, byName) {
    this.tabs = /** @type {HTMLElement} */ (section.querySelector("[role=tablist]"));
    this.code = /** @type {HTMLElement} */ (section.querySelector("code"));
    this.copy = /** @type {HTMLButtonElement} */ (section.querySelector(".copy"));
    this.byName = byName;
    this.tabs.replaceChildren(...Object.keys(byName).map((name) => this.#tab(name)));
    this.tabs.addEventListener("keydown", (event) => this.#move(event));
    this.copy.addEventListener("click", () => this.#copy());
    this.select(Object.keys(byName)[0]);
  }

  /** @param {string} name */
  select(name) {
    this.code.textContent = this.byName[name];
    for (const tab of this.tabs.children) {
      const chosen = tab.textContent === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("tabindex", chosen ? "0" : "-1");
    }
  }

  /** @param {string} name */
  #tab(name) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.setAttribute("role", "tab");
    tab.textContent = name;
    tab.addEventListener("click", () => this.select(name));
    return tab;
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) {
      return;
    }
    const tabs = /** @type {HTMLElement[]} */ ([...this.tabs.children]);
    const at = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = tabs[(at + step + tabs.length) % tabs.length];
    this.select(next.textContent ?? "");
    next.focus();
  }

  async #copy() {
    const done = await copied(this.code).catch(() => false);
    this.copy.textContent = done ? "Copied" : "Selected";
    setTimeout(() => (this.copy.textContent = "Copy"), 1500);
  }
}

/**
 * Copy an element's text, or, where the browser forbids it on plain http, select it.
 * @param {HTMLElement} code
 */
async function copied(code) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(code.textContent ?? "");
    return true;
  }
  getSelection()?.selectAllChildren(code);
  return false;
}
