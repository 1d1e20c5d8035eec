import pytest

from sandbox_server.features.box.itself import BoxItself
from sandbox_server.features.box.renewal import Renewal
from tests.features.box.conftest import FakeBox

pytestmark = pytest.mark.anyio


async def test_a_restart_says_what_ended_and_what_is_opened_again(keeper: FakeBox, renewal: Renewal) -> None:
    keeper.answers["replace"] = {"stopped": [{"pid": 2, "uid": 0, "command": "bomb"}]}
    done = await BoxItself(keeper, renewal).restart_box()
    assert (done.stopped[0].command, done.reopened, keeper.operations()[0]) == ("bomb", ["s1"], "replace")
