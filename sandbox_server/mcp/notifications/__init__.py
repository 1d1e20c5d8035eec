"""Notifications to MCP clients: changed lists and resources, and log messages."""
