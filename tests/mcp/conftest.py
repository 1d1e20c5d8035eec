"""Fixtures of the MCP process: the sample API, and upstream servers in another process or in this one."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp.app import McpParts
from sandbox_server.mcp.client_requests.interactive_calls import InteractiveCalls
from sandbox_server.mcp.notifications.log_levels import LogLevels
from sandbox_server.mcp.routing.tools import ToolRouter
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.connection import Connect, ServerListener, listener_options
from sandbox_server.mcp.servers.registry import ServerRegistry
from sandbox_server.mcp.servers.stdio_transport import StderrTail
from sandbox_server.mcp.servers.upstreams import UpstreamServers
from sandbox_server.mcp.tasks.methods import TaskMethods
from sandbox_server.mcp.tasks.store import TaskStore
from sandbox_server.mcp.tasks.waiting_calls import WaitingCalls
from sandbox_server.mcp.tools.api_client import ApiClient
from sandbox_server.mcp.tools.api_tools import ApiTools
from tests.core.conftest import _serving as _serving
from tests.core.conftest import api_socket as api_socket
from tests.core.conftest import app as app
from tests.core.conftest import sample as sample
from tests.mcp.sample_server import server

SAMPLE = str(Path(__file__).parent / "sample_server.py")


class InProcessConnector:
    """Connects to a server in this process, and counts the connections."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.fails: list[Exception] = []
        self.ended = asyncio.Event()

    @asynccontextmanager
    async def connect(
        self, config: ServerConfig, ended: asyncio.Event, said: StderrTail, listener: ServerListener
    ) -> AsyncIterator[Client]:
        """Connect, or fail as `fails` says."""
        self.opened += 1
        self.ended = ended
        if self.fails:
            said.take(b"no such thing\n")
            raise self.fails.pop(0)

        async with Client(server, mode="legacy", **listener_options(listener)) as client:
            yield client
        self.closed += 1


def servers_of(connect: Connect, idle_seconds: float = 0.0, **configs: dict[str, Any]) -> tuple[ServerRegistry, UpstreamServers]:
    """Servers of the given configurations."""
    built_in = {name: ServerConfig.model_validate(config) for name, config in configs.items()}
    sources = ServerRegistry(built_in, "/nowhere", None, JsonFile("/nowhere/added.json"))
    return sources, UpstreamServers(sources, connect, idle_seconds=idle_seconds)


def nothing_behind() -> McpParts:
    """An MCP process with the API's tools alone."""
    return McpParts(*servers_of(InProcessConnector().connect))


def tool_router(api: ApiClient, servers: UpstreamServers) -> ToolRouter:
    """The tools of the API and of servers, with tasks, for clients whose users are not asked."""
    tasks = TaskMethods(TaskStore(), WaitingCalls(ApiTools(api), api))
    return ToolRouter(ApiTools(api), servers, InteractiveCalls(LogLevels()), None, tasks)


@pytest.fixture
def in_process() -> InProcessConnector:
    return InProcessConnector()


@pytest.fixture
def no_servers() -> UpstreamServers:
    """No upstream servers."""
    return nothing_behind().servers


@pytest.fixture
async def api(api_socket: str) -> AsyncIterator[ApiClient]:
    """A pool of connections to the sample's socket."""
    async with ApiClient.connect(api_socket) as api:
        yield api


def program(*arguments: str) -> dict[str, Any]:
    """The configuration of the sample as a program."""
    return {"command": sys.executable, "args": [SAMPLE, *arguments]}
