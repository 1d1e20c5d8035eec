"""Ports of the agent's programs: listing, previews in a browser, and share links."""
