"""Clients of services: the lease's and the MCP hub's in this container, mail servers and webhooks outside."""
