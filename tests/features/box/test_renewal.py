import pytest

from sandbox_server.core import Conflict
from sandbox_server.features.box.renewal import Renewal
from tests.features.box.conftest import FakeBox, FakeShells

pytestmark = pytest.mark.anyio


async def test_shells_are_opened_again_with_what_they_exported_once_the_new_box_is_there(
    daemon: FakeBox, renewal: Renewal, shells: FakeShells
) -> None:
    daemon.answers["replace"] = {"stopped": []}
    assert await renewal.renew("replace", a=1) == {"stopped": [], "reopened": ["s1"]}
    assert shells.opened_with == [{"s1": b"declare -x A=1"}]
    await daemon.seen("usage")
    assert daemon.asked[0] == ("replace", {"a": 1})


async def test_shells_are_left_alone_where_there_was_nothing_to_do(daemon: FakeBox, renewal: Renewal, shells: FakeShells) -> None:
    daemon.answers["checkpoint"] = {"checkpoint": None, "stopped": [], "unchanged": True}
    assert (await renewal.renew("checkpoint"))["reopened"] == []
    assert not shells.opened_with


async def test_shells_are_left_alone_where_the_box_did_not_end(daemon: FakeBox, renewal: Renewal, shells: FakeShells) -> None:
    daemon.refusals["checkpoint"] = Conflict("the box stands on another")
    with pytest.raises(Conflict):
        await renewal.renew("checkpoint")
    assert not shells.opened_with
