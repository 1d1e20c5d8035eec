"""The MCP hub: the sandbox's own tools and those of other MCP servers, as one server. A process of its own, because the SDK is heavy."""
