"""Lanes: what is asked of the browser."""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox_server.core import Call, Caller, Conflict, InvalidArgument, NotFound, PermissionDenied
from sandbox_server.features.lanes import LaneRef, Lanes

pytestmark = pytest.mark.anyio

MIA = Call(Caller("mia"), "r1")


class FakeOwner:
    """A browser with lanes that says who made them."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    async def lanes(self) -> list[dict[str, Any]]:
        return [{"name": name, "created_by": by, "created": 1.5, "pages": 1, "clients": 0} for name, by in self.made.items()]

    async def create_lane(self, name: str, by: str) -> None:
        if name in self.made:
            raise Conflict(f"there is a lane {name!r} already")
        self.made[name] = by

    async def delete_lane(self, name: str) -> None:
        if self.made.pop(name, None) is None:
            raise NotFound(f"there is no lane {name!r}")


@pytest.fixture
def lanes() -> Lanes:
    return Lanes(FakeOwner())  # type: ignore[arg-type]


async def test_a_lane_is_made_listed_with_who_made_it_and_deleted(lanes: Lanes) -> None:
    assert (await lanes.create_lane(LaneRef(name="ann"), MIA)).name == "ann"
    [listed] = (await lanes.list_lanes(MIA)).lanes
    assert (listed.name, listed.created_by, listed.pages) == ("ann", "mia", 1)
    await lanes.delete_lane(LaneRef(name="ann"), MIA)
    assert (await lanes.list_lanes(MIA)).lanes == []


async def test_main_is_no_lane(lanes: Lanes) -> None:
    with pytest.raises(InvalidArgument, match="in no lane"):
        await lanes.create_lane(LaneRef(name="main"), MIA)


@pytest.mark.parametrize("name", ["", "Ann", "../x", "a" * 64])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        LaneRef(name=name)


async def test_a_token_sees_makes_and_deletes_the_lanes_that_it_names(lanes: Lanes) -> None:
    limited = Call(Caller("bob", lanes=("bob-*",)), "r2")
    await lanes.create_lane(LaneRef(name="ann"), MIA)
    await lanes.create_lane(LaneRef(name="bob-1"), limited)
    assert [lane.name for lane in (await lanes.list_lanes(limited)).lanes] == ["bob-1"]
    for refused in (lanes.create_lane(LaneRef(name="eve"), limited), lanes.delete_lane(LaneRef(name="ann"), limited)):
        with pytest.raises(PermissionDenied, match="does not name"):
            await refused
    await lanes.delete_lane(LaneRef(name="bob-1"), limited)
