"""Kernels of the agent's, over a real spawner."""

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions
from sandbox_server.drivers.spawn.process import Processes

MEMORY = 4 << 30


@pytest.fixture
def sockets(home: Path) -> Path:
    """The directory of the kernels' sockets, which only the agent may enter."""
    directory = home / ".kernels"
    directory.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(directory, "gem", "gem")
    return directory


@pytest.fixture
async def kernels(processes: Processes, sockets: Path) -> AsyncIterator[Kernels]:
    """Kernels, none of which is kept ready."""
    async with Kernels(processes, folder=str(sockets), default="python3", memory=MEMORY, warm=False) as opened:
        yield opened


@pytest.fixture
async def sessions(kernels: Kernels) -> AsyncIterator[KernelSessions]:
    """Two sessions at most, which are closed after half an hour."""
    async with KernelSessions(kernels, limit=2, idle_timeout=1800) as opened:
        yield opened
