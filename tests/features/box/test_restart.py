import pytest

from sandbox_server.features.box.restart import BoxRestart
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio


async def reopen() -> list[str]:
    return ["s1"]


async def test_a_restart_says_what_ended_and_what_was_opened_again(keeper: FakeBox) -> None:
    keeper.answers["replace"] = {"stopped": [{"pid": 2, "uid": 0, "command": "bomb"}]}
    done = await BoxRestart(keeper, reopen=reopen).restart_box()
    assert (done.stopped[0].command, done.reopened, keeper.operations()) == ("bomb", ["s1"], ["replace"])
