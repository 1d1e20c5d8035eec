import pytest

from sandbox_server.features.box.renewal import Renewal
from sandbox_server.features.box.restart import BoxRestart
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio


async def test_a_restart_says_what_ended_and_what_is_opened_again(keeper: FakeBox, renewal: Renewal) -> None:
    keeper.answers["replace"] = {"stopped": [{"pid": 2, "uid": 0, "command": "bomb"}]}
    done = await BoxRestart(renewal).restart_box()
    assert (done.stopped[0].command, done.reopened, keeper.operations()[0]) == ("bomb", ["s1"], "replace")
