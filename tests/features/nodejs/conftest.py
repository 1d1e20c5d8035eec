from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import NodeScripts
from sandbox_server.drivers.nodes.sessions import NodeSessions
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.stats.toolbox import Toolbox
from sandbox_server.features.nodejs.runtimes import NodeJS, NodeResources

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
async def nodejs(spawner: "SpawnerDaemon", files: Files) -> AsyncIterator[NodeJS]:
    """Node.js over a real spawner, with two sessions."""
    processes, workspace = Processes(spawner.socket), str(spawner.workspace)
    sessions = NodeSessions(processes, Nodes(processes, default="node22"), workspace=workspace, limit=2, memory=4 << 30)
    async with sessions:
        yield NodeJS(NodeScripts(processes, files, workspace=workspace), sessions, Toolbox(processes), NodeResources(10_000, 4 << 30))
