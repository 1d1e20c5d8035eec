"""Upstream MCP servers: which are configured, their lifecycle, their transports, and requests to them."""
