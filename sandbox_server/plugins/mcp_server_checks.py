"""Added MCP servers: whether they are described well, and whether their programs are there."""

import json
import shutil
from pathlib import Path

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.mcp.servers.configuration import read_server
from sandbox_server.plugins.check_results import Findings
from sandbox_server.settings.mcp import servers_in


def check(file: str) -> Findings:
    """Look at every server of a file."""
    found = Findings("MCP servers")
    if not Path(file).exists():
        return found
    try:
        servers = servers_in(json.loads(Path(file).read_text("utf-8")))
    except ValueError as error:
        found.problems.append(f"{file}: {error}")
        return found
    for name, given in servers.items():
        found.added.append(name)
        try:
            config = read_server(name, given)
        except InvalidArgument as error:
            found.problems.append(f"{file}: {error.message}")
            continue
        if config.command and not config.disabled and shutil.which(config.command) is None:
            found.problems.append(f"{file}: the MCP server {name!r}: there is no program {config.command}")
    return found
