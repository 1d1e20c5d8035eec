"""Isolated processes on both rungs; the agent's home is a directory of the test's own."""

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
        made = Fences(box.spawn_socket)
    else:
        spawner: SpawnerDaemon = request.getfixturevalue("spawner")
        made = Fences(spawner.socket)
    made.out("rm -rf ~/work ~/secret; mkdir ~/work ~/secret && echo hidden > ~/secret/key && echo shown > ~/secret/public")
    yield made
    made.out("rm -rf ~/work ~/secret")


@pytest.fixture
def private() -> Iterator[Path]:
    """The directory that is out of sight of every isolated process, with a token in it as boot writes it."""
    folder = Path("/run/sandbox-agent")
    folder.mkdir(exist_ok=True)
    token = folder / "token"
    token.write_text("secret-token")
    token.chmod(0o644)
    yield folder
    token.unlink()
