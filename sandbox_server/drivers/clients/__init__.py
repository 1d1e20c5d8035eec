"""Clients of services: the control lease and the MCP process in this container, mail servers and webhooks outside."""
