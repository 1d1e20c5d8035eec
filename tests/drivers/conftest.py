"""A real tmux of the agent's, whose server ends with the test."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.process import Processes
from sandbox_server.drivers.tmux import Tmux

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
def terminals(home: Path) -> Iterator[Path]:
    """The directory of the tmux socket, which only the agent may enter."""
    directory = home / ".shells"
    directory.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(directory, "gem", "gem")
    yield directory
    subprocess.run(["tmux", "-S", str(directory / "tmux.sock"), "kill-server"], check=False, capture_output=True)


@pytest.fixture
def processes(spawner: "SpawnerDaemon", home: Path) -> Processes:
    """Processes whose home is `home`."""
    spawner.stop()
    spawner.environment |= {"HOME": str(home), "WORKSPACE": str(home)}
    spawner.start("--allow-root")
    return Processes(spawner.socket)


@pytest.fixture
async def tmux(processes: Processes, terminals: Path) -> AsyncIterator[Tmux]:
    """The driver, not connected before it is used."""
    async with Tmux(processes, str(terminals)) as opened:
        yield opened
