// Code that connects a program to this sandbox, with its address filled in.

/**
 * @param {string} base scheme and authority of the gateway
 * @returns {Record<string, string>} text by the name of its tab
 */
export function connectSnippets(base) {
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
