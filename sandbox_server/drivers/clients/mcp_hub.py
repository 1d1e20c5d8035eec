"""The MCP hub, which is a process of its own, as the API asks it: servers, tools, and calls, in the name of whoever asks the API."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from sandbox_server.core.errors import (
    Conflict,
    Failure,
    HeldByHuman,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
)
from sandbox_server.drivers.ipc.unix_http import exchange

ASKED_SECONDS = 90.0
"""For an answer about servers and tools; a server that has to be fetched first takes most of it."""
RETRY_AFTER = 1.0

_KINDS: dict[str, type[Failure]] = {
    each.kind: each for each in (Conflict, HeldByHuman, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted, Unavailable)
}
_PASSED_ON = ("x-sandbox-caller", "x-sandbox-scopes", "x-sandbox-tools", "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")


class McpHubClient:
    """A client of the hub's socket; `headers` of every question are those of the API's own caller."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    async def names(self, headers: Mapping[str, str], *, hidden: bool) -> list[str]:
        """The names of the servers. Raises Unavailable, as everything here does while the hub starts."""
        found: list[str] = await self._ask("GET", f"/hub/servers?{urlencode({'include_hidden': str(hidden).lower()})}", headers)
        return found

    async def status(self, headers: Mapping[str, str]) -> list[dict[str, Any]]:
        """What is known of the servers that are not the sandbox's own."""
        found: list[dict[str, Any]] = await self._ask("GET", "/hub/status", headers)
        return found

    async def tools(self, server: str, headers: Mapping[str, str]) -> Any:
        """A server's tools as the protocol lists them. Raises NotFound."""
        return await self._ask("GET", f"/hub/servers/{quote(server, safe='')}/tools", headers)

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """Call a tool; gives the protocol's result. Raises NotFound, and Conflict where the server went away meanwhile."""
        path = f"/hub/servers/{quote(server, safe='')}/tools/{quote(tool, safe='')}"
        return await self._ask("POST", path, headers, arguments, patient=True)

    async def add(self, server: str, config: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Add a server, or change one that was added. Raises InvalidArgument and Conflict."""
        await self._ask("PUT", f"/hub/servers/{quote(server, safe='')}", headers, config)

    async def remove(self, server: str, headers: Mapping[str, str]) -> None:
        """Remove a server that was added. Raises NotFound and Conflict."""
        await self._ask("DELETE", f"/hub/servers/{quote(server, safe='')}", headers)

    async def _ask(self, verb: str, path: str, headers: Mapping[str, str], body: Any = None, *, patient: bool = False) -> Any:
        sent = {name: headers[name] for name in _PASSED_ON if name in headers}
        content = b"" if body is None else orjson.dumps(body)
        try:
            async with asyncio.timeout(None if patient else ASKED_SECONDS):
                status, answer = await exchange(self._socket, verb, path, content, sent)
            told = orjson.loads(answer)
        except TimeoutError:
            raise Unavailable("the MCP hub does not answer", retry_after=RETRY_AFTER) from None
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise Unavailable(f"the MCP hub is not there yet: {error}", retry_after=RETRY_AFTER) from error
        except (OSError, ValueError, IndexError) as error:
            raise Conflict("the MCP hub went away; what was asked of it may have been done") from error
        if status != 200:
            raise _failure(status, told)
        return told


def _failure(status: int, told: Any) -> Failure:
    told = told if isinstance(told, dict) else {}
    kind = _KINDS.get(str(told.get("kind")), Conflict)
    message, details = told.get("message") or f"the MCP hub answered {status}", told.get("details") or {}
    return kind(str(message), hint=told.get("hint"), retry_after=told.get("retry_after"), **details)
