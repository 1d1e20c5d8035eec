from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.process import Processes
from sandbox_server.features.bash.feature import Bash

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
async def bash(spawner: "SpawnerDaemon", tmp_path: Path) -> AsyncIterator[Bash]:
    """Bash over a real spawner, with four sessions and a megabyte of output for each stream."""
    settings = {"max_sessions": 4, "output_bytes": 1 << 20}
    async with Bash(Processes(spawner.socket), workspace=str(spawner.workspace), spool=str(tmp_path), **settings) as feature:
        yield feature
