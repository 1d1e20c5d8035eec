"""Sandboxes that wake at times that were said before."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.errors import InvalidError, NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, State
from tandem_fleet.schedules import following

from tests.fleet.test_fleet import ready, told
from tests.fleet.test_idleness import becomes
from tests.fleet.test_reconciler import MakeFleet

pytestmark = pytest.mark.anyio
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


async def test_one_that_sleeps_wakes_at_its_time(fleet: Fleet) -> None:
    one = await ready(fleet)
    for desired in (Desired.PAUSED, Desired.STOPPED):
        slept = await told(fleet, "work", desired)
        await fleet.schedules.add(slept, datetime.now(UTC) + timedelta(seconds=0.2), None)
        await becomes(fleet, one.id, State.READY)
        assert await fleet.schedules.of(one) == []


async def test_one_that_was_due_while_no_service_ran_wakes_and_comes_again(make_fleet: MakeFleet) -> None:
    async with make_fleet() as first:
        one = await ready(first)
        await told(first, "work", Desired.STOPPED)
    async with make_fleet() as second:
        await second.schedules.add(one, datetime.now(UTC) - timedelta(days=1), 3600)
        await becomes(second, one.id, State.READY)
        left = (await second.schedules.of(one))[0].at - datetime.now(UTC)
        assert timedelta(0) < left <= timedelta(hours=1)


async def test_one_that_was_deleted_is_forgotten(fleet: Fleet) -> None:
    one = await ready(fleet)
    await told(fleet, "work", Desired.DELETED)
    await fleet.schedules.add(one, datetime.now(UTC), 3600)
    other = await ready(fleet, "other")
    await told(fleet, "other", Desired.PAUSED)
    await fleet.schedules.add(other, datetime.now(UTC) + timedelta(seconds=0.1), None)
    await becomes(fleet, other.id, State.READY)
    assert await fleet.schedules.of(one) == []


async def test_what_names_no_time_is_refused(fleet: Fleet) -> None:
    one = await ready(fleet)
    for at, every in ((None, None), (NOON.replace(tzinfo=None), None), (NOON.replace(year=9999), None), (NOON, 1), (None, 10**9)):
        with pytest.raises(InvalidError):
            await fleet.schedules.add(one, at, every)
    with pytest.raises(NotFoundError):
        await fleet.schedules.remove(one, "none")


def test_times_that_were_missed_are_not_made_up_for() -> None:
    assert following(NOON, 3600, NOON + timedelta(seconds=1)) == NOON + timedelta(hours=1)
    assert following(NOON, 3600, NOON + timedelta(hours=5)) == NOON + timedelta(hours=6)
