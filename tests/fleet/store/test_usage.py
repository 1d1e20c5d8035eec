"""For how long sandboxes ran and were paused."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from sqlalchemy import func, insert, select
from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.errors import QuotaError
from tandem_fleet.quotas import Quota
from tandem_fleet.sandboxes import Spec, State, new_id
from tandem_fleet.store import quotas
from tandem_fleet.store import usage as module
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore
from tandem_fleet.store.tables import usage
from tandem_fleet.store.tenants import TenantStore
from tandem_fleet.store.usage import Usage, month_of, totals

pytestmark = pytest.mark.anyio
SPEC = Spec(memory_mb=2048, cpus=2)
DAY = datetime(2026, 11, 10, tzinfo=UTC)


async def intervals(database: Database) -> list[tuple[str, str, bool]]:
    """Tenant, kind, and whether it goes on."""
    async with database.reading() as connection:
        rows = (await connection.execute(select(usage).order_by(usage.c.number))).mappings().all()
    return [(row["tenant"], row["kind"], row["ended_ms"] is None) for row in rows]


async def used(database: Database, begin: datetime, end: datetime) -> Usage:
    """What the tenant `one` used."""
    async with database.reading() as connection:
        return await totals(connection, "one", begin, end)


async def write(database: Database, kind: str, begin: datetime, end: datetime | None) -> None:
    """An interval."""
    row = {"tenant": "one", "sandbox": new_id(), "kind": kind, "memory_mb": 2048, "cpus": 2, "began_ms": int(begin.timestamp() * 1000)}
    async with database.writing() as connection:
        await connection.execute(insert(usage).values(row | {"ended_ms": int(end.timestamp() * 1000) if end else None}))


async def test_an_interval_begins_and_ends_with_the_state_and_one_goes_on_at_most(database: Database) -> None:
    store = SandboxStore(database)
    made = await store.create(new_id(), "work", "one", SPEC)
    assert await intervals(database) == []
    for state in (State.STARTING, State.READY, State.STARTING, State.READY):
        await store.change(made.id, state=state)
    assert await intervals(database) == [("one", "running", True)]
    await store.change(made.id, state=State.PAUSED)
    await store.change(made.id, state=State.READY)
    await store.change(made.id, tenant="two")
    expected = [("one", "running", False), ("one", "paused", False), ("one", "running", False), ("two", "running", True)]
    assert await intervals(database) == expected
    await store.change(made.id, state=State.FAILED)
    await store.change(made.id, state=State.DELETED)
    assert [goes_on for *_, goes_on in await intervals(database)] == [False] * 4


async def test_what_went_on_when_the_service_was_killed_goes_on(database: Database, store_url: str) -> None:
    made = await SandboxStore(database).create(new_id(), "work", "one", SPEC)
    await SandboxStore(database).change(made.id, state=State.READY)
    second = Database(store_url)
    begin = datetime.now(UTC) - timedelta(days=1)
    assert (await used(second, begin, begin + timedelta(days=2))).running_seconds > 0
    await SandboxStore(second).change(made.id, state=State.STOPPED)
    assert await intervals(second) == [("one", "running", False)]
    await second.close()


async def test_one_that_is_found_in_the_engine_is_counted_from_then_on(database: Database) -> None:
    found = Found(new_id(), "work", "one", SPEC, Phase.RUNNING, datetime.now(UTC))
    await SandboxStore(database).adopt(found)
    assert await intervals(database) == [("one", "running", True)]


async def test_the_parts_that_reach_into_a_month_are_summed(database: Database) -> None:
    await write(database, "running", DAY - timedelta(hours=2), DAY + timedelta(hours=1))
    await write(database, "running", DAY + timedelta(hours=5), None)
    await write(database, "paused", DAY + timedelta(hours=3), DAY + timedelta(hours=9))
    await write(database, "paused", DAY - timedelta(hours=3), DAY)
    await write(database, "running", DAY + timedelta(hours=6), DAY + timedelta(hours=7))
    told = await used(database, DAY, DAY + timedelta(hours=6))
    assert told == Usage(2 * 3600, 3 * 3600, 5 * 2048, 4)
    assert await used(database, DAY + timedelta(days=3650), DAY + timedelta(days=3651)) == Usage(0, 0, 0, 0)


async def test_who_has_used_its_hours_starts_nothing_more(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "month_of", lambda _: (DAY, DAY + timedelta(days=1)))
    monkeypatch.setattr(module, "datetime", SimpleNamespace(now=lambda _: DAY + timedelta(days=1)))
    tenants, store = TenantStore(database), SandboxStore(database)
    await tenants.create("one")
    await tenants.limit("one", Quota(hours=1))
    for minutes in (0, 31, 28):
        await write(database, "running", DAY, DAY + timedelta(minutes=minutes))
        await store.create(new_id(), new_id(), "one", SPEC)
    await write(database, "running", DAY, DAY + timedelta(minutes=1))
    with pytest.raises(QuotaError, match="hours"):
        await store.create(new_id(), "second", "one", SPEC)


@pytest.mark.sqlite  # where a number can be chosen
async def test_old_intervals_go_and_what_goes_on_stays(database: Database) -> None:
    async with database.writing() as connection:
        await connection.execute(
            insert(usage).values(number=998, tenant="one", sandbox="a", kind="running", memory_mb=1, cpus=1, began_ms=1)
        )
        row = {"number": 997, "tenant": "one", "sandbox": "b", "kind": "running", "memory_mb": 1, "cpus": 1, "began_ms": 1, "ended_ms": 2}
        await connection.execute(insert(usage).values(row))
        await connection.execute(insert(usage).values(row | {"number": 999, "sandbox": "c"}))
    made = await SandboxStore(database).create(new_id(), "work", "one", SPEC)
    await SandboxStore(database).change(made.id, state=State.READY)
    async with database.reading() as connection:
        assert (await connection.execute(select(func.count()).select_from(usage))).scalar_one() == 2


@pytest.mark.parametrize(
    ("day", "begin", "end"),
    [
        (datetime(2026, 11, 30, 23, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)),
        (datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_month_ends_where_the_next_begins(day: datetime, begin: datetime, end: datetime) -> None:
    assert month_of(day) == (begin, end)
