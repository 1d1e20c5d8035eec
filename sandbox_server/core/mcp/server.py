"""The MCP protocol's two questions, answered from the API: which tools are there, and call this one."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool
from starlette.requests import Request

from sandbox_server.core.errors import Failure
from sandbox_server.core.mcp.api import Api
from sandbox_server.core.mcp.catalog import Tool, View
from sandbox_server.core.mcp.results import failed, failure_text, result_of
from sandbox_server.core.tasks import Tasks

NAME = "tandem"
INSTRUCTIONS = (
    "A Linux computer of your own, shared with a person who may watch and take over. "
    "Call sandbox_get_context first: it says what is installed and where your workspace is."
)
PROGRESS_SECONDS = 1.0
"""How often a caller that asked for progress hears that its call still runs."""

_FORWARDED = ("x-sandbox-caller", "x-sandbox-scopes", "x-request-id", "x-forwarded-host", "x-forwarded-proto", "host")

type Context = ServerRequestContext[Any, Request]


class Tools:
    """Answers `tools/list` and `tools/call`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that the caller may use; all fit on one page."""
        try:
            catalog = await self._api.catalog()
        except Failure as failure:
            raise MCPError(INTERNAL_ERROR, failure.message) from failure
        return ListToolsResult(tools=[_listed(tool) for tool in catalog.listed(view_of(_request(context)))])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Call one; whatever goes wrong with it is a result that the agent can read."""
        try:
            catalog = await self._api.catalog()
            tool = catalog.find(params.name, view_of(_request(context)))
            if tool is None:
                raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
            return await self._call(context, tool, params.arguments or {})
        except Failure as failure:
            return failed(failure_text(failure))

    async def _call(self, context: Context, tool: Tool, arguments: Mapping[str, Any]) -> CallToolResult:
        known = tool.input_schema["properties"]
        if unknown := sorted(set(arguments) - set(known)):
            return failed(f"{tool.name} has no field {unknown[0]!r}; it has {', '.join(sorted(known)) or 'none'}")
        async with _progress(context):
            return result_of(tool, await self._api.call(tool, arguments, forwarded(_request(context))))


def build_server(tools: Tools, api: Api, version: str) -> Server[Any]:
    """The protocol's side of it."""

    def input_schema(name: str) -> Mapping[str, Any] | None:
        catalog = api.known_catalog()
        return catalog.input_schema(name) if catalog else None

    return Server(
        NAME,
        version=version,
        title="Tandem",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=input_schema,
        on_list_tools=tools.list_tools,
        on_call_tool=tools.call_tool,
    )


def view_of(request: Request) -> View:
    """What the request may see: `?search=` is part of a name, `?tools=` are names, `?readonly=1` leaves out what changes things."""
    query = request.query_params
    return View(
        scopes=frozenset(request.headers.get("x-sandbox-scopes", "").split()),
        search=query.get("search", ""),
        names=frozenset(name for value in query.getlist("tools") for name in value.split(",") if name),
        read_only=query.get("readonly", "").lower() in ("1", "true", "yes"),
    )


def forwarded(request: Request) -> dict[str, str]:
    """The headers that say who asks and from where, and that it is an agent, with whom the API is strict."""
    headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
    return {**headers, "x-sandbox-surface": "mcp"}


def _request(context: Context) -> Request:
    if context.request is None:
        raise MCPError(INTERNAL_ERROR, "the call came without its request")
    return context.request


def _listed(tool: Tool) -> ListedTool:
    return ListedTool(
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
async def _progress(context: Context) -> AsyncIterator[None]:
    """Report elapsed seconds while the body runs, to a caller that gave a progress token."""
    if "progress_token" not in (context.meta or {}):
        yield
        return
    async with Tasks() as tasks:
        tasks.start(_report(context), name="progress")
        yield


async def _report(context: Context) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed = round(time.monotonic() - started, 1)
        await context.session.report_progress(elapsed, message=f"running for {elapsed:.0f} s")


def quiet_library_logs() -> None:
    """The SDK logs a line for each request and session; only its warnings matter here."""
    for name in ("mcp", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
