"""The MCP surface: the API's operations as tools. A process of its own, because the SDK is heavy; it reaches the API over its socket."""
