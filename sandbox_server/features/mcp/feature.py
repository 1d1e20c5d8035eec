"""The servers behind `/mcp`, one by one."""

from typing import Any, Literal, cast

from pydantic import Field

from sandbox_server.core import Call, Model, Scope, operation
from sandbox_server.drivers.clients.mcp_hub import McpHubClient
from sandbox_server.features.mcp.wire import CallToolResult, ListToolsResult

MAX_ARGUMENTS = 64 << 20
"""Bytes of a tool's arguments, as over MCP."""


class ListServers(Model):
    include_hidden: bool = False
    """Also those that are left out of `/mcp`."""


class ServerName(Model):
    server_name: str


class ToolCall(Model):
    server_name: str
    tool_name: str
    """As the server calls it, or as `/mcp` does."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """The tool's arguments: the whole body."""


class ServerState(Model):
    name: str
    kind: Literal["stdio", "http"]
    origin: Literal["built-in", "file", "environment", "added"]
    """Where it is said that it is wanted: in the image, in `mcp-servers.json`, in `EXTRA_MCP_SERVERS`, or here while it runs."""
    state: Literal["stopped", "starting", "running", "failed"]
    """`stopped` servers start when they are needed; `failed` ones are tried again, after a pause that grows."""
    hidden: bool
    tools: int | None
    """How many it has; null where it was not asked yet."""
    reason: str | None
    """Why it does not work."""


class NewServer(Model):
    server_name: str
    """Letters, digits, `-` and `_`; the names of its tools begin with it."""
    command: str | None = None
    """A program that speaks the protocol on its standard streams; it runs as the agent. Either this or `url`."""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Where it runs; the workspace unless it says otherwise."""
    url: str | None = None
    """Where a server speaks Streamable HTTP."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request to the URL; no answer ever shows them."""
    hidden: bool = False
    """Left out of `/mcp`, unless `?servers=` names it."""
    prefix: str | None = None
    """What its tools' names begin with; the server's name and `_` unless it says otherwise."""
    tags: list[str] = Field(default_factory=list)
    """What `?tags=` finds its tools by."""
    scope: Scope = "code"
    """What a caller must be allowed, to use its tools."""
    tools: list[str] | None = None
    """Patterns of names of the tools that are let through, as in `get_*`; all unless it says otherwise."""
    timeout: float | None = Field(default=None, gt=0)
    """Seconds that a call may take."""


class McpServers:
    """Lists and calls tools for clients that do not speak the protocol, and adds and removes servers."""

    tag = "mcp"

    def __init__(self, hub: McpHubClient) -> None:
        self._hub = hub

    @operation("GET /v1/mcp/servers", scope="any")
    async def list_mcp_servers(self, request: ListServers, call: Call) -> list[str]:
        """List the MCP servers that the caller may use, by name."""
        return await self._hub.names(call.headers, hidden=request.include_hidden)

    @operation("GET /v1/mcp/status", scope="any", operation_id="get_mcp_status")
    async def server_states(self, call: Call) -> list[ServerState]:
        """Tell of every server that is not the sandbox's own whether it works, and why not."""
        return [ServerState.model_validate(state) for state in await self._hub.status(call.headers)]

    @operation("GET /v1/mcp/{server_name}/tools", scope="any")
    async def list_mcp_tools(self, request: ServerName, call: Call) -> ListToolsResult:
        """List the tools of one server, as it describes them."""
        return cast("ListToolsResult", await self._hub.tools(request.server_name, call.headers))

    @operation(
        "POST /v1/mcp/{server_name}/tools/{tool_name}", scope="any", whole_body="arguments", ends_with_client=True, max_body=MAX_ARGUMENTS
    )
    async def execute_mcp_tool(self, request: ToolCall, call: Call) -> CallToolResult:
        """Call a tool. A tool that fails is an answer too: `isError` says so. Hanging up cancels it."""
        result = await self._hub.call(request.server_name, request.tool_name, request.arguments, call.headers)
        return cast("CallToolResult", result)

    @operation("PUT /v1/mcp/servers/{server_name}", scope="admin", operation_id="add_mcp_server", acts="shell")
    async def add_server(self, request: NewServer, call: Call) -> ServerState:
        """Put a server behind `/mcp`, or change one that was put there; it is started when it is first needed.

        It stays until the container ends.
        """
        await self._hub.add(request.server_name, request.model_dump(exclude={"server_name"}, exclude_defaults=True), call.headers)
        states = await self._hub.status(call.headers)
        return next(ServerState.model_validate(state) for state in states if state["name"] == request.server_name)

    @operation("DELETE /v1/mcp/servers/{server_name}", scope="admin", operation_id="remove_mcp_server", destructive=True, acts="shell")
    async def remove_server(self, request: ServerName, call: Call) -> None:
        """Take away a server that was added while it runs, and end it."""
        await self._hub.remove(request.server_name, call.headers)
