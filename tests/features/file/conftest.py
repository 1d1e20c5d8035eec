from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.spawn.process import Processes

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture
def processes(spawner: "SpawnerDaemon") -> Processes:
    """Processes of the agent, through a real spawner."""
    return Processes(spawner.socket)
