"""The internal HTTP API on the MCP socket, for the API process: servers, tools and calls. The gateway does not expose it."""

import time
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sandbox_server.core.errors import Failure, NotFound
from sandbox_server.core.http.client_disconnect import while_connected
from sandbox_server.core.identity import CALLER
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.routing.tools import call_upstream_tool, with_notice
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.upstreams import UpstreamServers, UpstreamTool, upstream_tools
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools.api_tools import ApiTools, protocol_tool
from sandbox_server.mcp.tools.catalog import SERVERS
from sandbox_server.mcp.tools.results import failed_result


class McpInternalApi:
    """Servers and tools one by one, each tool under its own server's name for it."""

    def __init__(self, api_tools: ApiTools, servers: UpstreamServers, registry: ServerRegistry) -> None:
        self._api_tools = api_tools
        self._servers = servers
        self._registry = registry

    def routes(self) -> list[BaseRoute]:
        """The routes of the internal API."""
        return [
            Route("/hub/servers", _json_endpoint(self.names), methods=["GET"]),
            Route("/hub/status", _json_endpoint(self.status), methods=["GET"]),
            Route("/hub/servers/{name}", _json_endpoint(self.add), methods=["PUT"]),
            Route("/hub/servers/{name}", _json_endpoint(self.remove), methods=["DELETE"]),
            Route("/hub/servers/{name}/tools", _json_endpoint(self.tools), methods=["GET"]),
            Route("/hub/servers/{name}/tools/{tool}", _json_endpoint(self.call), methods=["POST"]),
        ]

    async def names(self, request: Request) -> Any:
        """List the servers that the caller may use; `include_hidden` adds the hidden ones."""
        tool_filter, hidden = filter_of(request), request.query_params.get("include_hidden") == "true"
        upstreams = self._servers.all().values()
        return [
            *SERVERS,
            *(each.name for each in upstreams if tool_filter.may_use(each.config.scope) and (hidden or not each.config.hidden)),
        ]

    async def status(self, request: Request) -> Any:
        """Get the state of every upstream server."""
        return self._servers.status(filter_of(request))

    async def tools(self, request: Request) -> Any:
        """List the tools of one server in the protocol's form."""
        name, tool_filter = request.path_params["name"], filter_of(request)
        if name in SERVERS:
            found = [protocol_tool(tool) for tool in await self._api_tools.listed(tool_filter) if tool.server == name]
        else:
            found = [
                upstream_tool.tool for upstream_tool in await self._upstream_tools(name, tool_filter) if tool_filter.allows(upstream_tool)
            ]
        return {"tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]}

    async def call(self, request: Request) -> Any:
        """Call a tool by its own or its prefixed name. The call is cancelled when the connection closes."""
        name, tool, tool_filter = request.path_params["name"], request.path_params["tool"], filter_of(request)
        arguments = await request.json()
        calling = (self._call_api_tool if name in SERVERS else self._call_upstream_tool)(request, name, tool, arguments, tool_filter)
        result = await while_connected(request, calling)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def add(self, request: Request) -> Any:
        """Add a server."""
        self._registry.add(request.path_params["name"], await request.json())
        self._servers.all()

    async def remove(self, request: Request) -> Any:
        """Remove a server that was added."""
        self._registry.remove(request.path_params["name"])
        self._servers.all()

    async def _call_api_tool(
        self, request: Request, server: str, tool: str, arguments: dict[str, Any], tool_filter: ToolFilter
    ) -> CallToolResult:
        names = (tool, f"{server}_{tool}")
        found = [each for name in names if (each := await self._api_tools.find(name, tool_filter)) and each.server == server]
        if not found:
            raise NotFound(f"the MCP server {server!r} has no tool {tool!r}")
        return await self._api_tools.call(request, found[0], arguments)

    async def _call_upstream_tool(
        self, request: Request, server: str, tool: str, arguments: dict[str, Any], tool_filter: ToolFilter
    ) -> CallToolResult:
        for upstream_tool in await self._upstream_tools(server, tool_filter):
            if tool in (upstream_tool.tool.name, upstream_tool.name) and tool_filter.allows(upstream_tool):
                try:
                    began = time.time()
                    result = await call_upstream_tool(request, upstream_tool, arguments, PlainHttpClient())
                    return with_notice(result, await self._api_tools.blocked(request, began))
                except MCPError as error:
                    return failed_result(error.message)
        raise NotFound(f"the MCP server {server!r} has no tool {tool!r}")

    async def _upstream_tools(self, name: str, tool_filter: ToolFilter) -> list[UpstreamTool]:
        upstream = self._servers.get(name, tool_filter)
        return list(upstream_tools(upstream, await upstream.tools()))


def _json_endpoint(ask: Any) -> Any:
    """An endpoint that returns JSON, for failures too."""

    async def endpoint(request: Request) -> Response:
        if CALLER not in request.headers:
            return JSONResponse({"kind": "unauthenticated", "message": "the request names no caller"}, 401)
        try:
            return JSONResponse(await ask(request))
        except Failure as failure:
            fields = {"kind": failure.kind, "message": failure.message, "hint": failure.hint, "retry_after": failure.retry_after}
            return JSONResponse({**fields, "details": _json_values(failure.details)}, failure.status)

    return endpoint


def _json_values(details: Mapping[str, object]) -> dict[str, object]:
    """The details of a failure that are valid JSON."""
    return {name: value for name, value in details.items() if value is None or isinstance(value, str | int | float | list)}
