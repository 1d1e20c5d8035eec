"""Requests to MCP clients: sampling and elicitation, by session or by multi-round-trip calls."""
