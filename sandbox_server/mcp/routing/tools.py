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
from sandbox_server.mcp.client_requests.clients import CallingClient
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.servers.upstreams import UpstreamServers, UpstreamTool
from sandbox_server.mcp.tool_filter import filter_of
from sandbox_server.mcp.tools import api_tools
from sandbox_server.mcp.tools.api_tools import ApiTools, Context, heartbeat, request_of
from sandbox_server.mcp.tools.human_in_the_loop import REQUEST, WAIT, HumanInTheLoop
from sandbox_server.mcp.tools.results import failed, failure_text

_log = logging.getLogger("sandbox.audit")


class ToolRouter:
    """Answers `tools/list` and `tools/call`."""

    def __init__(self, own: ApiTools, servers: UpstreamServers, interactive_calls: InteractiveCalls, people: HumanInTheLoop | None) -> None:
        self._own = own
        self._servers = servers
        self._interactive_calls = interactive_calls
        self._people = people

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that the caller may use; all fit on one page.

        Where two have one name, the first is listed; a name of ours is never another server's, whoever asks.
        """
        tool_filter = filter_of(request_of(context))
        try:
            own, foreign = await asyncio.gather(self._own.listed(tool_filter), self._servers.listed(tool_filter))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure.message) from failure
        found = {tool.name: api_tools.listed(tool) for tool in own}
        for tool in foreign:
            if tool.name not in found and not await self._own.owns(tool.name):
                found[tool.name] = renamed(tool)
        return ListToolsResult(tools=list(found.values()))

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Call one; whatever goes wrong with it is a result that the agent can read."""
        request = request_of(context)
        try:
            return await self._interactive_calls.serve(context, params, partial(self._call, request, params.name, params.arguments or {}))
        except Failure as failure:
            return failed(failure_text(failure))

    async def _call(self, request: Request, name: str, arguments: dict[str, Any], calling_client: CallingClient) -> CallToolResult:
        tool_filter = filter_of(request)
        if tool := await self._own.find(name, tool_filter):
            async with heartbeat(calling_client.report):
                if self._people and tool.name in (REQUEST, WAIT):
                    return await self._people.call(request, tool, arguments, tool_filter, calling_client)
                return await self._own.call(request, tool, arguments)
        foreign = None if await self._own.owns(name) else await self._servers.find(name, tool_filter)
        if foreign is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        return await call_upstream_tool(request, foreign, arguments, calling_client)


def renamed(foreign: UpstreamTool) -> Tool:
    """A foreign tool as it is listed here."""
    return foreign.tool.model_copy(update={"name": foreign.name})


async def call_upstream_tool(
    request: Request, foreign: UpstreamTool, arguments: Mapping[str, Any], calling_client: CallingClient
) -> CallToolResult:
    """Call a tool of a server behind the hub, and leave a line in the log of who called what. Raises MCPError and Failure as it fails."""
    started, outcome = time.monotonic(), "failed"
    try:
        result = await foreign.upstream.call(foreign.tool.name, dict(arguments), calling_client)
        outcome = "error" if result.is_error else "ok"
        return result
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        told = {
            "request_id": request.headers.get("x-request-id"),
            "caller": request.headers.get("x-sandbox-caller"),
            "surface": "mcp",
            "operation": f"mcp.{foreign.server}.{foreign.tool.name}",
            "ms": round((time.monotonic() - started) * 1000, 2),
            "outcome": outcome,
        }
        _log.info("call", extra={"fields": told})
