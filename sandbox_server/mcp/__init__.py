"""The MCP process: one MCP server in front of the API's operations and of other MCP servers. Separate because the SDK is heavy."""
