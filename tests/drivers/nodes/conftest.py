"""Node.js of the agent's, over a real spawner."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import NodeLimits, NodeScripts
from sandbox_server.drivers.nodes.sessions import NodeSessions
from sandbox_server.drivers.spawn.process import Processes

LIMITS = NodeLimits(output=10_000, memory=4 << 30, timeout=30)


@pytest.fixture
def nodes(processes: Processes) -> Nodes:
    """Every version; 22 is the default."""
    return Nodes(processes, default="node22")


@pytest.fixture
def scripts(processes: Processes, files: Files, home: Path) -> NodeScripts:
    """Programs, in directories below the home."""
    return NodeScripts(processes, files, workspace=str(home))


@pytest.fixture
async def node_sessions(processes: Processes, nodes: Nodes, home: Path) -> AsyncIterator[NodeSessions]:
    """Two sessions at most."""
    async with NodeSessions(processes, nodes, workspace=str(home), limit=2, memory=4 << 30, check=0.05) as opened:
        yield opened
