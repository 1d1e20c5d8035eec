"""The API's operations as tools: which there are, and call this one."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, ToolAnnotations
from mcp_types import Tool as McpTool
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.catalog import ApiTool
from sandbox_server.mcp.tools.results import failed, failure_text, result_of

PROGRESS_SECONDS = 1.0
"""How often a caller that asked for progress hears that its call still runs."""

_FORWARDED = ("x-sandbox-caller", "x-sandbox-scopes", "x-sandbox-tools", "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")

type Context = ServerRequestContext[Any, Request]


class ApiTools:
    """The tools of the API that `api` reaches."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    async def listed(self, tool_filter: ToolFilter) -> list[ApiTool]:
        """What a view shows, in alphabetical order. Raises Unavailable before the API was ever up."""
        return (await self._api.catalog()).listed(tool_filter)

    async def find(self, name: str, tool_filter: ToolFilter) -> ApiTool | None:
        """A tool by name or alias, if the view shows it. Raises Unavailable before the API was ever up."""
        return (await self._api.catalog()).find(name, tool_filter)

    async def owns(self, name: str) -> bool:
        """Whether a name is one of ours, for whoever asks. Raises Unavailable before the API was ever up."""
        return (await self._api.catalog()).has(name)

    async def call(self, request: Request, tool: ApiTool, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool in the name of whoever sent the request; whatever goes wrong is a result that the agent can read."""
        known = tool.input_schema["properties"]
        if unknown := sorted(set(arguments) - set(known)):
            return failed(f"{tool.name} has no field {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}")
        try:
            return result_of(tool, await self._api.call(tool, arguments, forwarded(request)))
        except Failure as failure:
            return failed(failure_text(failure))


def forwarded(request: Request) -> dict[str, str]:
    """The headers that say who asks and from where, and that it is an agent, with whom the API is strict."""
    headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
    return {**headers, "x-sandbox-surface": "mcp"}


def request_of(context: Context) -> Request:
    """The HTTP request that a message of the protocol came with."""
    if context.request is None:
        raise MCPError(INTERNAL_ERROR, "the call came without its request")
    return context.request


def listed(tool: ApiTool) -> McpTool:
    """The tool as the protocol lists it."""
    return McpTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            title=tool.title, read_only_hint=tool.read_only, destructive_hint=tool.destructive and not tool.read_only
        ),
    )


@asynccontextmanager
async def heartbeat(report: ProgressFnT) -> AsyncIterator[None]:
    """Report elapsed seconds while the body runs; `report` reaches a caller that gave a progress token."""
    async with Tasks() as tasks:
        tasks.start(_report(report), name="progress")
        yield


async def _report(report: ProgressFnT) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed = round(time.monotonic() - started, 1)
        await report(elapsed, None, f"running for {elapsed:.0f} s")
