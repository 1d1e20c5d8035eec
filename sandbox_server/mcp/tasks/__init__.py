"""MCP tasks: tool calls that go on without their client, which fetches the result later."""
