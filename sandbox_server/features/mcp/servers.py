"""MCP servers behind `/mcp`: list them, read their state, add and remove them while the container runs."""

from typing import Literal

from pydantic import Field

from sandbox_server.core import Call, Model, Scope, operation
from sandbox_server.drivers.clients.mcp_process import McpProcessClient


class ListMcpServers(Model):
    include_hidden: bool = False
    """Include the servers that `/mcp` leaves out."""


class McpServerName(Model):
    server_name: str


class McpServerState(Model):
    name: str
    kind: Literal["stdio", "http"]
    origin: Literal["built-in", "file", "environment", "added"]
    """Where the server is configured: in the image, in `mcp-servers.json`, in `EXTRA_MCP_SERVERS`, or by this API."""
    state: Literal["stopped", "starting", "running", "failed"]
    """`stopped` servers start at the next call. `failed` ones are tried again, after a pause that grows."""
    hidden: bool
    tools: int | None
    """The number of its tools; null until it was asked."""
    reason: str | None
    """Why it failed."""


class NewMcpServer(Model):
    server_name: str
    """Letters, digits, `-` and `_`. The names of its tools begin with it."""
    command: str | None = None
    """A program that speaks MCP over stdio; it runs as the agent. Give either this or `url`."""
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    """Its working directory. Default: the workspace."""
    url: str | None = None
    """The address of a server that speaks Streamable HTTP."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Sent with every request to the URL. No response shows them."""
    hidden: bool = False
    """Leave the server out of `/mcp`, unless `?servers=` names it."""
    prefix: str | None = None
    """The prefix of its tools' names. Default: the server's name and `_`."""
    tags: list[str] = Field(default_factory=list)
    """Tags for `?tags=`."""
    scope: Scope = "code"
    """The scope that a caller needs to use its tools."""
    tools: list[str] | None = None
    """Name patterns of the tools to expose, as in `get_*`. Default: all."""
    timeout: float | None = Field(default=None, gt=0)
    """Seconds that one call may take."""


class McpServers:
    """The servers that `/mcp` aggregates."""

    tag = "mcp"

    def __init__(self, mcp_process: McpProcessClient) -> None:
        self._mcp_process = mcp_process

    @operation("GET /v1/mcp/servers", scope="any")
    async def list_mcp_servers(self, request: ListMcpServers, call: Call) -> list[str]:
        """List the MCP servers that the caller may use, by name."""
        return await self._mcp_process.names(call.headers, hidden=request.include_hidden)

    @operation("GET /v1/mcp/status", scope="any", operation_id="get_mcp_status")
    async def server_states(self, call: Call) -> list[McpServerState]:
        """Get the state of every server except the sandbox's own: whether it works, and if not, why."""
        return [McpServerState.model_validate(state) for state in await self._mcp_process.status(call.headers)]

    @operation("PUT /v1/mcp/servers/{server_name}", scope="admin", operation_id="add_mcp_server", acts="shell")
    async def add_server(self, request: NewMcpServer, call: Call) -> McpServerState:
        """Add a server behind `/mcp`, or change one that was added. It starts at its first call.

        The server stays until the container ends.
        """
        await self._mcp_process.add(request.server_name, request.model_dump(exclude={"server_name"}, exclude_defaults=True), call.headers)
        states = await self._mcp_process.status(call.headers)
        return next(McpServerState.model_validate(state) for state in states if state["name"] == request.server_name)

    @operation("DELETE /v1/mcp/servers/{server_name}", scope="admin", operation_id="remove_mcp_server", destructive=True, acts="shell")
    async def remove_server(self, request: McpServerName, call: Call) -> None:
        """Remove a server that was added by this API, and stop it."""
        await self._mcp_process.remove(request.server_name, call.headers)
