"""Snapshots by id and by name."""

import pytest
from tandem_fleet.e2b.named_snapshots import NamedSnapshots, described
from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.fleet import Fleet

from tests.fleet.answering import Answering
from tests.fleet.keeping import CREATE
from tests.fleet.test_fleet import ready
from tests.fleet.test_snapshots import fleet, gateway, make_fleet

pytestmark = pytest.mark.anyio
__all__ = ["fleet", "gateway", "make_fleet"]


async def test_a_name_is_that_of_the_newest(fleet: Fleet) -> None:
    sandbox, snapshots = await ready(fleet), NamedSnapshots(fleet)
    first = await snapshots.make(sandbox, "mine")
    second = await snapshots.make(sandbox, "mine")
    bare = await snapshots.make(sandbox, "")
    assert (first.names, bare.names) == (("mine",), ())
    for name, wanted in (("mine", second), (first.snapshot_id, first), (bare.snapshot_id, bare)):
        found = await snapshots.find("default", name)
        assert found
        assert described(found) == wanted
    assert await snapshots.find("default", "") is None
    assert await snapshots.find("other", first.snapshot_id) is None


async def test_one_that_was_not_made_is_no_snapshot(fleet: Fleet, answers: Answering) -> None:
    sandbox, snapshots = await ready(fleet), NamedSnapshots(fleet)
    answers.answers[CREATE] = (507, {"message": "the disk is full"})
    with pytest.raises(Exception, match="the disk is full"):
        await snapshots.make(sandbox, "mine")
    assert [one async for one in snapshots.all("default")] == []


async def test_one_is_removed_by_its_name(fleet: Fleet) -> None:
    sandbox, snapshots = await ready(fleet), NamedSnapshots(fleet)
    await snapshots.make(sandbox, "mine")
    with pytest.raises(NotFoundError):
        await snapshots.remove("other", "mine")
    await snapshots.remove("default", "mine")
    with pytest.raises(NotFoundError):
        await snapshots.remove("default", "mine")


async def test_a_name_has_no_space_round_it(fleet: Fleet) -> None:
    with pytest.raises(InvalidError):
        await NamedSnapshots(fleet).make(await ready(fleet), " mine")
