"""Lists and calls the API's operations as MCP tools."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolResult, ToolAnnotations, ToolExecution
from mcp_types import Tool as McpTool
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.identity import ENDS_WITH_CALLER
from sandbox_server.core.tasks import Tasks
from sandbox_server.core.unknown_fields import UnknownField
from sandbox_server.mcp.tool_filter import ToolFilter
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.catalog import ApiTool
from sandbox_server.mcp.tools.results import PAGE_TEXT, failed_result, failure_text, result_of
from sandbox_server.mcp.transport.request_context import identity_headers

PROGRESS_SECONDS = 1.0
"""Interval of progress notifications for a call with a progress token."""


class ApiTools:
    """The API's tools."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    async def listed(self, tool_filter: ToolFilter) -> list[ApiTool]:
        """The tools that a filter shows, in alphabetical order. Raises Unavailable before the API's first start."""
        return (await self._api.catalog()).listed(tool_filter)

    async def find(self, name: str, tool_filter: ToolFilter) -> ApiTool | None:
        """A tool by name or alias, if the filter shows it. Raises Unavailable before the API's first start."""
        return (await self._api.catalog()).find(name, tool_filter)

    async def owns(self, name: str) -> bool:
        """Whether an API tool has this name, whatever the filter. Raises Unavailable before the API's first start."""
        return (await self._api.catalog()).has(name)

    async def blocked(self, request: Request, since: float) -> str | None:
        """What the network policy refused to the caller's programs since a time; None if that is nothing, or not known."""
        with suppress(Failure, ValueError, KeyError, TypeError):
            response = await self._api.send("GET", "/v1/egress/blocked", identity_headers(request), query={"since": since})
            blocked = response.json()["data"]["blocked"]
            return blocked if isinstance(blocked, str) else None
        return None

    async def call(
        self, request: Request, tool: ApiTool, arguments: Mapping[str, Any], *, ends_with_caller: bool = False
    ) -> CallToolResult:
        """Call a tool in the name of the request's caller. Every failure is an error result that the agent can read.

        With `ends_with_caller` a cancellation of this ends what the call began, where its operation can.
        """
        known = tool.input_schema["properties"]
        if unknown := set(arguments) - set(known):
            first = UnknownField(min(unknown), "", frozenset(known) - arguments.keys())
            return failed_result(f"{tool.name} has no field {first}; it has {', '.join(sorted(known)) or 'none'}")
        try:
            headers = identity_headers(request) | ({ENDS_WITH_CALLER: "1"} if ends_with_caller else {})
            return result_of(tool, await self._api.call(tool, arguments, headers))
        except Failure as failure:
            return failed_result(failure_text(failure))


def protocol_tool(tool: ApiTool, *, as_task: bool = False) -> McpTool:
    """A tool in the protocol's form, as `tools/list` returns it. `as_task` says that it may be called as a task."""
    return McpTool(
        name=tool.name,
        title=tool.title,
        description=f"{tool.description}\n\n{PAGE_TEXT}" if tool.page_text else tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        execution=ToolExecution(task_support="optional") if as_task else None,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive and not tool.read_only,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=tool.open_world,
        ),
    )


@asynccontextmanager
async def heartbeat(report: ProgressFnT) -> AsyncIterator[None]:
    """Report elapsed seconds as progress while the body runs."""
    async with Tasks() as tasks:
        tasks.start(_report(report), name="progress")
        yield


async def _report(report: ProgressFnT) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed = round(time.monotonic() - started, 1)
        await report(elapsed, None, f"running for {elapsed:.0f} s")
