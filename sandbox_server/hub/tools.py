"""Tools of the hub: the sandbox's own and those of the servers behind it, listed and called alike."""

import asyncio
import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
)
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.identity import CALLER
from sandbox_server.core.mcp import operations
from sandbox_server.core.mcp.operations import Context, Operations, heartbeat, request_of
from sandbox_server.core.mcp.results import failed, failure_text
from sandbox_server.core.mcp.view import view_of
from sandbox_server.hub.askers import Askers
from sandbox_server.hub.asking import Asker
from sandbox_server.hub.people import REQUEST, WAIT, People
from sandbox_server.hub.servers import Foreign, Servers

_log = logging.getLogger("sandbox.audit")


class Tools:
    """Answers `tools/list` and `tools/call`."""

    def __init__(self, own: Operations, servers: Servers, askers: Askers, people: People | None) -> None:
        self._own = own
        self._servers = servers
        self._askers = askers
        self._people = people

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that the caller may use; all fit on one page.

        Where two have one name, the first is listed; a name of ours is never another server's, whoever asks.
        """
        view = view_of(request_of(context))
        try:
            own, foreign = await asyncio.gather(self._own.listed(view), self._servers.listed(view))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure.message) from failure
        found = {tool.name: operations.listed(tool) for tool in own}
        for tool in foreign:
            if tool.name not in found and not await self._own.owns(tool.name):
                found[tool.name] = renamed(tool)
        return ListToolsResult(tools=list(found.values()))

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Call one; whatever goes wrong with it is a result that the agent can read."""
        request = request_of(context)
        try:
            return await self._askers.serve(context, params, partial(self._call, request, params.name, params.arguments or {}))
        except Failure as failure:
            return failed(failure_text(failure))

    async def _call(self, request: Request, name: str, arguments: dict[str, Any], asker: Asker) -> CallToolResult:
        view = view_of(request)
        if tool := await self._own.find(name, view):
            async with heartbeat(asker.report):
                if self._people and tool.name in (REQUEST, WAIT):
                    return await self._people.call(request, tool, arguments, view, asker)
                return await self._own.call(request, tool, arguments)
        foreign = None if await self._own.owns(name) else await self._servers.find(name, view)
        if foreign is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        return await call_foreign(request, foreign, arguments, asker)


def renamed(foreign: Foreign) -> Tool:
    """A foreign tool as it is listed here."""
    return foreign.tool.model_copy(update={"name": foreign.name})


async def call_foreign(request: Request, foreign: Foreign, arguments: Mapping[str, Any], asker: Asker) -> CallToolResult:
    """Call a tool of a server behind the hub, and leave a line in the log of who called what. Raises MCPError and Failure as it fails."""
    started, outcome = time.monotonic(), "failed"
    try:
        result = await foreign.upstream.call(foreign.tool.name, dict(arguments), asker)
        outcome = "error" if result.is_error else "ok"
        return result
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        told = {
            "request_id": request.headers.get("x-request-id"),
            "caller": request.headers.get(CALLER),
            "surface": "mcp",
            "operation": f"mcp.{foreign.server}.{foreign.tool.name}",
            "ms": round((time.monotonic() - started) * 1000, 2),
            "outcome": outcome,
        }
        _log.info("call", extra={"fields": told})
