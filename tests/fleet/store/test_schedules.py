"""Times at which sandboxes wake, in the store."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.errors import ConflictError
from tandem_fleet.store.database import Database
from tandem_fleet.store.schedules import Schedule, ScheduleStore

pytestmark = pytest.mark.anyio
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


async def test_the_first_of_all_is_next_until_it_has_passed(database: Database) -> None:
    store = ScheduleStore(database)
    late, soon = Schedule("late", "one", NOON + timedelta(hours=1), None), Schedule("soon", "two", NOON, 60)
    for schedule in (late, soon):
        await store.add(schedule, most=2)
    assert await store.next() == soon
    await store.passed(soon, NOON + timedelta(hours=2))
    assert await store.next() == late
    await store.passed(late, None)
    assert await store.of("one") == []
    assert [one.at for one in await store.of("two")] == [NOON + timedelta(hours=2)]


async def test_a_sandbox_has_no_more_than_so_many(database: Database) -> None:
    store = ScheduleStore(database)
    await store.add(Schedule("a", "one", NOON, None), most=1)
    with pytest.raises(ConflictError):
        await store.add(Schedule("b", "one", NOON, None), most=1)
    assert not await store.remove("two", "a")
    assert await store.remove("one", "a")
    assert await store.next() is None
