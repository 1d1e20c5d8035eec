"""Isolated processes on both isolation levels; the agent's home is a directory of the test's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.boxes import BoxDaemons
from tests.fences import Fences

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon


@pytest.fixture(params=["box", "users"])
def fences(request: pytest.FixtureRequest) -> Iterator[Fences]:
    """The agent in a box, then the agent as a user of the container. `~/work` is an empty directory."""
    if request.param == "box":
        box: BoxDaemons = request.getfixturevalue("shared_box")
        made = Fences(box.spawn_socket, str(box.agent_run))
    else:
        spawner: SpawnerDaemon = request.getfixturevalue("spawner")
        made = Fences(spawner.socket, "/run/sandbox-agent")
        Path(made.private).mkdir(exist_ok=True)
    made.out("rm -rf ~/work ~/secret; mkdir ~/work ~/secret && echo hidden > ~/secret/key && echo shown > ~/secret/public")
    token = Path(made.private, "token")  # as boot writes it
    token.write_text("secret-token")
    token.chmod(0o644)
    yield made
    token.unlink()
    made.out("rm -rf ~/work ~/secret")
