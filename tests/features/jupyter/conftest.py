import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.jupyter.kernels import Jupyter

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
async def jupyter(spawner: "SpawnerDaemon", home: Path) -> AsyncIterator[Jupyter]:
    """Jupyter over a real spawner, with two sessions and a hundred kilobytes of output."""
    folder = home / ".kernels"
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(folder, "gem", "gem")
    kernels = Kernels(Processes(spawner.socket), folder=str(folder), default="python3", memory=4 << 30, warm=False)
    async with kernels, KernelSessions(kernels, limit=2, idle_timeout=1800) as sessions:
        yield Jupyter(sessions, output_bytes=100_000)
