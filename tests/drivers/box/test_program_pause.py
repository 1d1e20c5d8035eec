import pytest

from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.box.isolation import Isolation
from sandbox_server.drivers.box.program_pause import ProgramPause
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio
TOLD = {"paused": True, "count": 2, "names": ["bash"]}


async def test_the_daemon_is_asked_and_its_answer_given() -> None:
    daemon = FakeBox()
    daemon.answers |= {"pause_programs": TOLD, "resume_programs": TOLD | {"paused": False}, "status": {"programs": TOLD}}
    pause = ProgramPause(daemon)
    assert await pause.pause() == TOLD
    assert await pause.state() == TOLD
    assert await pause.resume() == TOLD | {"paused": False}


async def test_without_a_box_nothing_can_be_stopped() -> None:
    pause = ProgramPause(BoxClient("/nonexistent", Isolation("users", "no flags")))
    assert [await pause.pause(), await pause.state(), await pause.resume()] == [None, None, None]
