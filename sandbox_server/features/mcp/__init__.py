"""MCP servers over plain HTTP: which there are, what tools they have, and to call one."""
