"""Routes `tools/list` and `tools/call` to the API's tools and to upstream servers."""

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
    TextContent,
    Tool,
)
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.identity import CALLER
from sandbox_server.mcp.client_requests.clients import CallingClient
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.servers.upstreams import UpstreamServers, UpstreamTool
from sandbox_server.mcp.tasks.methods import TaskMethods
from sandbox_server.mcp.tasks.waiting_calls import TASK_TOOLS
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.api_tools import ApiTools, heartbeat, protocol_tool
from sandbox_server.mcp.tools.human_in_the_loop import REQUEST, WAIT, HumanInTheLoop
from sandbox_server.mcp.tools.results import failed_result, failure_text
from sandbox_server.mcp.toolsets import NAMES
from sandbox_server.mcp.transport.request_context import RequestContext, http_request

_log = logging.getLogger("sandbox.audit")


class ToolRouter:
    """Lists and calls the tools of the API and of upstream servers."""

    def __init__(
        self,
        api_tools: ApiTools,
        servers: UpstreamServers,
        interactive_calls: InteractiveCalls,
        human_in_the_loop: HumanInTheLoop | None,
        tasks: TaskMethods,
    ) -> None:
        self._api_tools = api_tools
        self._servers = servers
        self._interactive_calls = interactive_calls
        self._human_in_the_loop = human_in_the_loop
        self._tasks = tasks

    async def list_tools(self, context: RequestContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that the caller may use, on one page; without a filter, the default ones. The others can be called all the same.

        Of two tools with one name the first is listed. No upstream tool can take the name of an API tool.
        """
        tool_filter = checked_filter(http_request(context))
        try:
            api_tools, upstream_tools = await asyncio.gather(self._api_tools.listed(tool_filter), self._servers.listed(tool_filter))
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure.message) from failure
        found = {tool.name: protocol_tool(tool, as_task=tool.name in TASK_TOOLS) for tool in api_tools if tool_filter.lists(tool)}
        for tool in upstream_tools:
            if tool_filter.lists(tool) and tool.name not in found and not await self._api_tools.owns(tool.name):
                found[tool.name] = prefixed(tool)
        return ListToolsResult(tools=list(found.values()))

    async def call_tool(
        self, context: RequestContext, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Call a tool; the result, or a task in its place. Every failure is an error result that the agent can read."""
        request = http_request(context)
        try:
            if task := await self._tasks.instead_of_result(context, params):
                return task
            return await self._interactive_calls.run(context, params, partial(self._call, request, params.name, params.arguments or {}))
        except Failure as failure:
            return failed_result(failure_text(failure))

    async def _call(self, request: Request, name: str, arguments: dict[str, Any], calling_client: CallingClient) -> CallToolResult:
        tool_filter = checked_filter(request)
        if tool := await self._api_tools.find(name, tool_filter):
            async with heartbeat(calling_client.report):
                if self._human_in_the_loop and tool.name in (REQUEST, WAIT):
                    return await self._human_in_the_loop.call(request, tool, arguments, tool_filter, calling_client)
                return await self._api_tools.call(request, tool, arguments)
        upstream_tool = None if await self._api_tools.owns(name) else await self._servers.find(name, tool_filter)
        if upstream_tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")
        began = time.time()
        result = await call_upstream_tool(request, upstream_tool, arguments, calling_client)
        return with_notice(result, await self._api_tools.blocked(request, began))


def checked_filter(request: Request) -> ToolFilter:
    """The filter of a request. Raises MCPError where it names a toolset that does not exist."""
    tool_filter = filter_of(request)
    if unknown := tool_filter.unknown_toolsets:
        raise MCPError(INVALID_PARAMS, f"there is no toolset {unknown[0][:100]!r}: there are {', '.join(NAMES)}")
    return tool_filter


def with_notice(result: CallToolResult, notice: str | None) -> CallToolResult:
    """Return a result with a notice for the agent behind its content."""
    return result.model_copy(update={"content": [*result.content, TextContent(text=notice)]}) if notice else result


def prefixed(upstream_tool: UpstreamTool) -> Tool:
    """An upstream tool under its prefixed name. It is called without a task, whatever its server can do."""
    return upstream_tool.tool.model_copy(update={"name": upstream_tool.name, "execution": None})


async def call_upstream_tool(
    request: Request, upstream_tool: UpstreamTool, arguments: Mapping[str, Any], calling_client: CallingClient
) -> CallToolResult:
    """Call an upstream tool and write an audit line. Raises MCPError and Failure."""
    started, outcome = time.monotonic(), "failed"
    try:
        upstream, tool = upstream_tool.upstream, upstream_tool.tool.name
        await upstream.approve(request.headers, upstream.name, tool, upstream_tool.name, arguments)
        result = await upstream.call(tool, dict(arguments), calling_client)
        outcome = "error" if result.is_error else "ok"
        return result
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        fields = {
            "request_id": request.headers.get("x-request-id"),
            "caller": request.headers.get(CALLER),
            "surface": "mcp",
            "operation": f"mcp.{upstream_tool.server}.{upstream_tool.tool.name}",
            "ms": round((time.monotonic() - started) * 1000, 2),
            "outcome": outcome,
        }
        _log.info("call", extra={"fields": fields})
