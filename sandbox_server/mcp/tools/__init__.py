"""The API's operations as MCP tools: the catalog, their schemas, their calls and results."""
