"""What the drivers' tests share: a real tmux of the agent's, whose server ends with the test, and a real box."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import Processes
from tests.boxes import VOLUME, BoxDaemons

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


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxDaemons]:
    """A box of this test's own, running."""
    yield from _started(tmp_path_factory)


@pytest.fixture(scope="session")
def shared_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxDaemons]:
    """One box, for every test that leaves it as it was."""

    yield from _started(tmp_path_factory)


def _started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BoxDaemons]:
    if not VOLUME.is_dir():
        pytest.fail("these tests need a volume at /sandbox: run scripts/test")
    folder = tmp_path_factory.mktemp("box")
    folder.chmod(0o755)
    daemons = BoxDaemons(folder)
    daemons.start()
    yield daemons
    daemons.stop()
