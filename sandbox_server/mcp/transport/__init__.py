"""Streamable HTTP for MCP clients, and their sessions."""
