"""A client of the MCP process's internal socket: servers, tools and calls, as the API's caller."""

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
from sandbox_server.core.identity import forwarded
from sandbox_server.drivers.ipc.unix_http import exchange
from sandbox_server.timeouts import scaled

ANSWER_SECONDS = scaled(90.0)
"""Seconds for an answer about servers and tools. A server that `npx` downloads first takes most of it."""
RETRY_AFTER = 1.0

_KINDS: dict[str, type[Failure]] = {
    each.kind: each for each in (Conflict, HeldByHuman, InvalidArgument, NotFound, PermissionDenied, ResourceExhausted, Unavailable)
}


class McpProcessClient:
    """Sends requests to the MCP process; `headers` are those of the API's own caller."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    async def names(self, headers: Mapping[str, str], *, hidden: bool) -> list[str]:
        """List the names of the servers. Every method raises Unavailable while the MCP process starts."""
        found: list[str] = await self._request("GET", f"/hub/servers?{urlencode({'include_hidden': str(hidden).lower()})}", headers)
        return found

    async def status(self, headers: Mapping[str, str]) -> list[dict[str, Any]]:
        """Get the states of the servers, without the sandbox's own."""
        found: list[dict[str, Any]] = await self._request("GET", "/hub/status", headers)
        return found

    async def tools(self, server: str, headers: Mapping[str, str]) -> Any:
        """List a server's tools as the protocol does. Raises NotFound."""
        return await self._request("GET", f"/hub/servers/{quote(server, safe='')}/tools", headers)

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        """Call a tool; returns the protocol's result. Raises NotFound, and Conflict if the server ended meanwhile."""
        path = f"/hub/servers/{quote(server, safe='')}/tools/{quote(tool, safe='')}"
        return await self._request("POST", path, headers, arguments, unbounded=True)

    async def add(self, server: str, config: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Add a server, or change one that was added. Raises InvalidArgument and Conflict."""
        await self._request("PUT", f"/hub/servers/{quote(server, safe='')}", headers, config)

    async def remove(self, server: str, headers: Mapping[str, str]) -> None:
        """Remove a server that was added. Raises NotFound and Conflict."""
        await self._request("DELETE", f"/hub/servers/{quote(server, safe='')}", headers)

    async def _request(self, verb: str, path: str, headers: Mapping[str, str], body: Any = None, *, unbounded: bool = False) -> Any:
        sent = forwarded(headers)
        content = b"" if body is None else orjson.dumps(body)
        try:
            async with asyncio.timeout(None if unbounded else ANSWER_SECONDS):
                status, answer = await exchange(self._socket, verb, path, content, sent)
            reply = orjson.loads(answer)
        except TimeoutError:
            raise Unavailable("the MCP process does not answer", retry_after=RETRY_AFTER) from None
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise Unavailable(f"the MCP process has not started yet: {error}", retry_after=RETRY_AFTER) from error
        except (OSError, ValueError, IndexError) as error:
            raise Conflict("the MCP process ended during the call; the call may have taken effect") from error
        if status != 200:
            raise _failure(status, reply)
        return reply


def _failure(status: int, reply: Any) -> Failure:
    reply = reply if isinstance(reply, dict) else {}
    kind = _KINDS.get(str(reply.get("kind")), Conflict)
    message, details = reply.get("message") or f"the MCP process answered {status}", reply.get("details") or {}
    return kind(str(message), hint=reply.get("hint"), retry_after=reply.get("retry_after"), **details)
