"""MCP servers over plain HTTP: list, add and remove servers, list their tools, call a tool."""
