"""What the API asks of the hub, on the hub's socket, for the operations of the contract; the gateway lets nobody else there."""

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sandbox_server.core.errors import Failure, NotFound
from sandbox_server.core.http.hung_up import while_connected
from sandbox_server.mcp.client_requests.clients import PlainHttpClient
from sandbox_server.mcp.routing.tools import call_upstream_tool
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.upstreams import UpstreamServers, UpstreamTool, upstream_tools
from sandbox_server.mcp.tool_filter import ToolFilter, filter_of
from sandbox_server.mcp.tools import api_tools
from sandbox_server.mcp.tools.api_tools import ApiTools
from sandbox_server.mcp.tools.catalog import SERVERS
from sandbox_server.mcp.tools.results import failed


class McpInternalApi:
    """Servers and tools one by one, each tool under the name that its own server gives it."""

    def __init__(self, own: ApiTools, servers: UpstreamServers, sources: ServerRegistry) -> None:
        self._own = own
        self._servers = servers
        self._sources = sources

    def routes(self) -> list[BaseRoute]:
        """Where the API finds them."""
        return [
            Route("/hub/servers", _answered(self.names), methods=["GET"]),
            Route("/hub/status", _answered(self.status), methods=["GET"]),
            Route("/hub/servers/{name}", _answered(self.add), methods=["PUT"]),
            Route("/hub/servers/{name}", _answered(self.remove), methods=["DELETE"]),
            Route("/hub/servers/{name}/tools", _answered(self.tools), methods=["GET"]),
            Route("/hub/servers/{name}/tools/{tool}", _answered(self.call), methods=["POST"]),
        ]

    async def names(self, request: Request) -> Any:
        """The names of the servers that the caller may use, the hidden ones too where they are asked for."""
        tool_filter, hidden = filter_of(request), request.query_params.get("include_hidden") == "true"
        foreign = self._servers.all().values()
        return [*SERVERS, *(each.name for each in foreign if tool_filter.may_use(each.config.scope) and (hidden or not each.config.hidden))]

    async def status(self, request: Request) -> Any:
        """What is known of the servers behind the hub."""
        return self._servers.status(filter_of(request))

    async def tools(self, request: Request) -> Any:
        """The tools of one server, as the protocol describes them."""
        name, tool_filter = request.path_params["name"], filter_of(request)
        if name in SERVERS:
            found = [api_tools.listed(tool) for tool in await self._own.listed(tool_filter) if tool.server == name]
        else:
            found = [foreign.tool for foreign in await self._foreign(name, tool_filter) if tool_filter.allows(foreign)]
        return {"tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]}

    async def call(self, request: Request) -> Any:
        """Call a tool, by the name that its server or the hub gives it; the call ends when whoever asked is gone."""
        name, tool, tool_filter = request.path_params["name"], request.path_params["tool"], filter_of(request)
        arguments = await request.json()
        calling = (self._call_own if name in SERVERS else self._call_foreign)(request, name, tool, arguments, tool_filter)
        result = await while_connected(request, calling)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def add(self, request: Request) -> Any:
        """Add a server."""
        self._sources.add(request.path_params["name"], await request.json())
        self._servers.all()

    async def remove(self, request: Request) -> Any:
        """Remove a server that was added."""
        self._sources.remove(request.path_params["name"])
        self._servers.all()

    async def _call_own(
        self, request: Request, server: str, tool: str, arguments: dict[str, Any], tool_filter: ToolFilter
    ) -> CallToolResult:
        names = (tool, f"{server}_{tool}")
        found = [each for name in names if (each := await self._own.find(name, tool_filter)) and each.server == server]
        if not found:
            raise NotFound(f"the MCP server {server!r} has no tool {tool!r}")
        return await self._own.call(request, found[0], arguments)

    async def _call_foreign(
        self, request: Request, server: str, tool: str, arguments: dict[str, Any], tool_filter: ToolFilter
    ) -> CallToolResult:
        for foreign in await self._foreign(server, tool_filter):
            if tool in (foreign.tool.name, foreign.name) and tool_filter.allows(foreign):
                try:
                    return await call_upstream_tool(request, foreign, arguments, PlainHttpClient())
                except MCPError as error:
                    return failed(error.message)
        raise NotFound(f"the MCP server {server!r} has no tool {tool!r}")

    async def _foreign(self, name: str, tool_filter: ToolFilter) -> list[UpstreamTool]:
        upstream = self._servers.named(name, tool_filter)
        return list(upstream_tools(upstream, await upstream.tools()))


def _answered(ask: Any) -> Any:
    """An endpoint that answers in JSON, failures too."""

    async def endpoint(request: Request) -> Response:
        if "x-sandbox-caller" not in request.headers:
            return JSONResponse({"kind": "unauthenticated", "message": "nobody says who asks"}, 401)
        try:
            return JSONResponse(await ask(request))
        except Failure as failure:
            told = {"kind": failure.kind, "message": failure.message, "hint": failure.hint, "retry_after": failure.retry_after}
            return JSONResponse({**told, "details": _plain(failure.details)}, failure.status)

    return endpoint


def _plain(details: Mapping[str, object]) -> dict[str, object]:
    """What of a failure's values JSON has."""
    return {name: value for name, value in details.items() if value is None or isinstance(value, str | int | float | list)}
