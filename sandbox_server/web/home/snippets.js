// Code that connects a program to this sandbox, with its address and a key filled in.

/** What stands in all of them until a key is made. */
export const PLACEHOLDER = "YOUR_KEY";

/**
 * @param {string} base scheme and authority of the gateway
 * @param {string} key
 * @returns {Record<string, string>} text by the name of its tab
 */
export function connectSnippets(base, key) {
  const bearer = `Bearer ${key}`;
  const headers = { Authorization: bearer };
  return {
    "Claude Code": `claude mcp add --transport http tandem ${base}/mcp --header "Authorization: ${bearer}"`,
    Codex: ["# ~/.codex/config.toml", "[mcp_servers.tandem]", `url = "${base}/mcp"`, `http_headers = { Authorization = "${bearer}" }`].join("\n"),
    Cursor: json({ mcpServers: { tandem: { url: `${base}/mcp`, headers } } }),
    "MCP JSON": json({ mcpServers: { tandem: { type: "http", url: `${base}/mcp`, headers } } }),
    Python: [
      "# pip install agent-sandbox",
      "from agent_sandbox import Sandbox",
      "",
      `sandbox = Sandbox(base_url="${base}", headers={"Authorization": "${bearer}"})`,
      'print(sandbox.shell.exec_command(command="uname -a").data.output)',
    ].join("\n"),
    TypeScript: [
      "// agent.mts: node agent.mts, or bun, or deno run --allow-net",
      `const answer = await fetch("${base}/v1/shell/exec", {`,
      '  method: "POST",',
      `  headers: { Authorization: "${bearer}", "Content-Type": "application/json" },`,
      '  body: JSON.stringify({ command: "uname -a" }),',
      "});",
      "const { data }: { data: { output: string } } = await answer.json();",
      "console.log(data.output);",
    ].join("\n"),
    curl: [
      `curl ${base}/v1/shell/exec \\`,
      `  -H "Authorization: ${bearer}" \\`,
      '  -H "Content-Type: application/json" \\',
      `  -d '{"command": "uname -a"}'`,
    ].join("\n"),
  };
}

/** @param {object} value */
const json = (value) => JSON.stringify(value, null, 2);
