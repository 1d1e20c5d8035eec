"""Settings of the MCP process: extra servers and their idle timeout. Standard library only, because boot reads them."""

import json
from dataclasses import dataclass
from typing import Any

from sandbox_server.settings.kinds import Kind, Secret, seconds, variable


def _servers(text: str) -> Secret:
    """Check a path, or a JSON object of servers by name; the MCP process checks each server."""
    if not text.startswith("/"):
        servers_in(json.loads(text))
    return Secret(text)


def servers_in(given: Any) -> dict[str, dict[str, Any]]:
    """The servers of a document by name: below `mcpServers`, as clients write them, or at the top level. Raises ValueError."""
    found = given.get("mcpServers", given) if isinstance(given, dict) else None
    if not isinstance(found, dict) or not all(isinstance(server, dict) for server in found.values()):
        raise ValueError('must be a path, or JSON as in {"mcpServers": {"name": {"command": "..."}}}')
    return found


MCP_SERVERS: Kind[Secret | None] = Kind("path or JSON", _servers, secret=True)
"""A secret, because the environment and headers of servers hold keys."""


@dataclass(frozen=True, slots=True)
class McpSettings:
    """MCP servers"""

    extra: Secret | None = variable(
        "EXTRA_MCP_SERVERS",
        MCP_SERVERS,
        None,
        "Servers behind `/mcp` besides those of `/opt/gem/mcp-servers.json`: JSON of the same form, or the path of such a file.",
    )
    idle: float = variable(
        "MCP_IDLE_SECONDS",
        seconds(0, 86400 * 30),
        900.0,
        "Stop a server behind `/mcp` after this time without a call. The next call starts it again. 0: never.",
    )
