import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.script import NodeScripts
from sandbox_server.drivers.nodes.sessions import NodeSessions
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.code.execution import BashRunner, NodeRunner, PythonRunner
from sandbox_server.features.code.languages import Code

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

OUTPUT, MEMORY = 100_000, 4 << 30


@pytest.fixture
async def code(spawner: "SpawnerDaemon", files: Files, home: Path) -> AsyncIterator[Code]:
    """Every language, over a real spawner."""
    folder = home / ".kernels"
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(folder, "gem", "gem")
    processes, workspace = Processes(spawner.socket), str(spawner.workspace)
    kernels = Kernels(processes, folder=str(folder), default="python3", memory=MEMORY, warm=False)
    nodes = Nodes(processes, default="node22")
    python = KernelSessions(kernels, limit=2, idle_timeout=1800)
    javascript = NodeSessions(processes, nodes, workspace=workspace, limit=2, memory=MEMORY)
    async with kernels, python, javascript:
        node = NodeRunner(NodeScripts(processes, files, workspace=workspace), javascript, OUTPUT, MEMORY)
        yield Code(kernels, nodes, PythonRunner(python, OUTPUT), node, BashRunner(processes, OUTPUT))
