"""The server registry: upstream servers from the image, from files, from a setting, and from the API."""

import json
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp.servers.configuration import ServerConfig, read_server
from sandbox_server.settings.kinds import Secret
from sandbox_server.settings.mcp import servers_in

type Origin = Literal["built-in", "file", "environment", "added"]

MAX_ADDED = 64
"""Servers that the API may add."""
MAX_FILE_BYTES = 1 << 20
"""Size of a file of servers."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RegisteredServer:
    """The configuration of one server and its origin."""

    config: ServerConfig
    origin: Origin


class ServerRegistry:
    """The configured servers by name. Later origins win: built-in, file, environment, added.

    A changed file is read again. An invalid file or server is skipped and logged once.
    """

    def __init__(self, built_in: Mapping[str, ServerConfig], file: str, extra: Secret | None, added: JsonFile) -> None:
        self._built_in = built_in
        given = extra.reveal() if extra else ""
        self._files: list[tuple[str, Origin]] = [(file, "file"), *([(given, "environment")] if given.startswith("/") else [])]  # type: ignore[list-item] # literals
        self._inline = {} if not given or given.startswith("/") else _read_servers(servers_in(json.loads(given)), "EXTRA_MCP_SERVERS")
        self._added_file = added
        self._added = _read_servers(added.read() or {}, "the servers that were added")
        self._read: dict[str, tuple[tuple[int, int] | None, dict[str, ServerConfig]]] = {}

    def servers(self) -> dict[str, RegisteredServer]:
        """The servers that are not disabled, in a stable order."""
        found: dict[str, RegisteredServer] = {name: RegisteredServer(config, "built-in") for name, config in self._built_in.items()}
        for path, origin in self._files:
            found |= {name: RegisteredServer(config, origin) for name, config in self._in_file(path).items()}
        found |= {name: RegisteredServer(config, "environment") for name, config in self._inline.items()}
        found |= {name: RegisteredServer(config, "added") for name, config in self._added.items()}
        return {name: source for name, source in found.items() if not source.config.disabled}

    def add(self, name: str, given: Mapping[str, Any]) -> None:
        """Add a server, or change one that was added. Raises InvalidArgument, and Conflict for a name of another origin."""
        config = read_server(name, given)
        taken = self.servers().get(name)
        if taken is not None and taken.origin != "added":
            raise Conflict(f"there is an MCP server {name!r} already: it is {_origin_text(taken.origin)}", name=name)
        if len(self._added | {name: config}) > MAX_ADDED:
            raise ResourceExhausted(f"{MAX_ADDED} MCP servers were added already: remove one", limit=MAX_ADDED)
        self._keep(self._added | {name: config})

    def remove(self, name: str) -> None:
        """Remove a server that was added. Raises NotFound, and Conflict for a server of another origin."""
        if name not in self._added:
            if name in self.servers():
                raise Conflict(f"the MCP server {name!r} was not added here: it is {_origin_text(self.servers()[name].origin)}", name=name)
            raise NotFound(f"no MCP server {name!r}", name=name)
        self._keep({kept: config for kept, config in self._added.items() if kept != name})

    def _keep(self, added: dict[str, ServerConfig]) -> None:
        self._added_file.write({name: config.model_dump(mode="json", exclude_defaults=True) for name, config in added.items()})
        self._added = added

    def _in_file(self, path: str) -> dict[str, ServerConfig]:
        stamp = _stamp(path)
        before = self._read.get(path)
        if before is None or before[0] != stamp:
            before = self._read[path] = (stamp, _read_servers(_load(path), path) if stamp else {})
        return before[1]


def _stamp(path: str) -> tuple[int, int] | None:
    """A file's modification time and size; None if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _load(path: str) -> dict[str, dict[str, Any]]:
    try:
        return servers_in(json.loads(_content(path)))
    except (OSError, ValueError, RecursionError) as error:
        _log.error("the MCP servers of %s are left out: %s", path, error)
        return {}


def _content(path: str) -> bytes:
    """Read a file that may be the agent's: regular, within the limit, and never blocking on a pipe."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES} bytes")
    return content


def _read_servers(given: Mapping[str, Mapping[str, Any]], where: str) -> dict[str, ServerConfig]:
    return dict(_valid(given, where, read_server))


def _valid(
    given: Mapping[str, Mapping[str, Any]], where: str, read: Callable[[str, Mapping[str, Any]], ServerConfig]
) -> Iterator[tuple[str, ServerConfig]]:
    for name, server in given.items():
        try:
            yield name, read(name, server)
        except InvalidArgument as error:
            _log.error("%s: %s", where, error.message)


def _origin_text(origin: Origin) -> str:
    return {"built-in": "built in", "file": "in mcp-servers.json", "environment": "in EXTRA_MCP_SERVERS", "added": "added"}[origin]
