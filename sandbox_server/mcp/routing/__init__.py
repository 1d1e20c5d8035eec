"""MCP methods, answered by the API or by an upstream server: tools, resources, prompts."""
