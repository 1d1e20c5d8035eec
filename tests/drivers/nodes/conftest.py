"""Node.js of the agent's, over a real spawner."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import Limits, Scripts
from sandbox_server.drivers.nodes.sessions import Sessions
from sandbox_server.drivers.spawn.process import Processes

LIMITS = Limits(output=10_000, memory=4 << 30, timeout=30)


@pytest.fixture
def nodes(processes: Processes) -> Nodes:
    """Every version; 22 is the default."""
    return Nodes(processes, default="node22")


@pytest.fixture
def scripts(processes: Processes, files: Files, home: Path) -> Scripts:
    """Programs, in directories below the home."""
    return Scripts(processes, files, workspace=str(home))


@pytest.fixture
async def node_sessions(processes: Processes, nodes: Nodes, home: Path) -> AsyncIterator[Sessions]:
    """Two sessions at most."""
    async with Sessions(processes, nodes, workspace=str(home), limit=2, memory=4 << 30, check=0.05) as opened:
        yield opened
