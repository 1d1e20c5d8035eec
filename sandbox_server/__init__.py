"""One Linux computer, shared by an agent and a person, behind one API."""

__version__ = "0.2.0"
"""The version in the API document, MCP and `GET /v1/sandbox`. A release's tag is `v` and this."""
