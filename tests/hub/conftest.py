"""What the tests of the hub share: the API of the sample, and servers behind the hub that are another process, or none at all."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from sandbox_server.core.mcp.api import Api
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.hub.app import Hub
from sandbox_server.hub.configuration import ServerConfig
from sandbox_server.hub.connection import Connect, Ear, heard_by
from sandbox_server.hub.servers import Servers
from sandbox_server.hub.sources import Sources
from sandbox_server.hub.streams import Said
from tests.core.conftest import _serving as _serving
from tests.core.conftest import api_socket as api_socket
from tests.core.conftest import app as app
from tests.core.conftest import sample as sample
from tests.hub.sample_server import server

SAMPLE = str(Path(__file__).parent / "sample_server.py")


class Line:
    """In place of a connection to a program: a server in this process, and what was done with it."""

    def __init__(self) -> None:
        self.opened = 0
        self.closed = 0
        self.fails: list[Exception] = []
        self.ended = asyncio.Event()

    @asynccontextmanager
    async def connect(self, config: ServerConfig, ended: asyncio.Event, said: Said, ear: Ear) -> AsyncIterator[Client]:
        """Connect, or fail as it is told to."""
        self.opened += 1
        self.ended = ended
        if self.fails:
            said.take(b"no such thing\n")
            raise self.fails.pop(0)

        async with Client(server, mode="legacy", **heard_by(ear)) as client:
            yield client
        self.closed += 1


def servers_of(connect: Connect, idle_seconds: float = 0.0, **configs: dict[str, Any]) -> tuple[Sources, Servers]:
    """Servers of the given configurations."""
    built_in = {name: ServerConfig.model_validate(config) for name, config in configs.items()}
    sources = Sources(built_in, "/nowhere", None, JsonFile("/nowhere/added.json"))
    return sources, Servers(sources, connect, idle_seconds=idle_seconds)


def nothing_behind() -> Hub:
    """A hub with the sandbox's own tools alone."""
    return Hub(*servers_of(Line().connect))


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def no_servers() -> Servers:
    """No server but the sandbox itself."""
    return nothing_behind().servers


@pytest.fixture
async def api(api_socket: str) -> AsyncIterator[Api]:
    """A pool of connections to the sample's socket."""
    async with Api.connect(api_socket) as api:
        yield api


def program(*arguments: str) -> dict[str, Any]:
    """The configuration of the sample as a program."""
    return {"command": sys.executable, "args": [SAMPLE, *arguments]}
