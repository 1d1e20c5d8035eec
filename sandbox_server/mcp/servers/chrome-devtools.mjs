// Start chrome-devtools-mcp on this sandbox's browser. Usage: chrome-devtools.mjs PACKAGES PORT TOKEN-FILE HOME
// The token is put where only this process sees it: every process sees the others' command lines.
import { readFileSync } from "node:fs";

const [packages, port, tokenFile, home] = process.argv.splice(2);
const token = readFileSync(tokenFile, "utf8").trim();
process.argv.push(
  `--wsEndpoint=ws://127.0.0.1:${port}/devtools/browser`,
  `--wsHeaders=${JSON.stringify({ Authorization: `Bearer ${token}` })}`,
  `--workspace=${home}`,
  "--no-page-id-routing",
  "--no-usage-statistics",
  "--no-performance-crux",
);
await import(`${packages}/node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js`);
