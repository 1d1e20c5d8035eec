"""One Linux computer, shared by an agent and a person, behind one API."""

__version__ = "0.2.0"
"""What the API document, MCP and `GET /v1/sandbox` say; the tag of a release is `v` and this."""
