from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.features.bash import commands
from sandbox_server.features.bash.commands import Bash

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
async def bash(spawner: "SpawnerDaemon", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bash]:
    """Bash over a real spawner, with four sessions and a megabyte of output for each stream."""
    monkeypatch.setattr(commands, "SIGNAL_GRACE", 30.0)
    monkeypatch.setattr(commands, "CLOSE_GRACE", 30.0)
    settings = {"max_sessions": 4, "output_bytes": 1 << 20}
    async with Bash(Processes(spawner.socket), workspace=str(spawner.workspace), spool=str(tmp_path), **settings) as served:
        yield served
