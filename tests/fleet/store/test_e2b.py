"""When sandboxes end, in the store."""

from datetime import UTC, datetime, timedelta

import pytest
from tandem_fleet.sandboxes import Spec
from tandem_fleet.store.database import Database
from tandem_fleet.store.e2b import DeadlineStore
from tandem_fleet.store.sandboxes import SandboxStore

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def test_an_end_is_kept_moved_extended_and_forgotten(database: Database) -> None:
    store = DeadlineStore(database)
    assert await store.get("a") is None
    await store.set("a", NOW + HOUR)
    await store.set("a", NOW, extend=True)
    assert await store.get("a") == NOW + HOUR
    await store.set("a", NOW)
    await store.set("b", NOW - HOUR)
    assert await store.first(10) == [("b", NOW - HOUR), ("a", NOW)]
    assert await store.first(1) == [("b", NOW - HOUR)]
    await store.forget("b")
    await store.forget("none")
    assert await DeadlineStore(database).first(10) == [("a", NOW)]


async def test_sandboxes_that_are_not_deleted_are_live(database: Database) -> None:
    sandboxes = SandboxStore(database)
    for number in ("a", "b"):
        await sandboxes.create(number, number, "default", Spec())
    await sandboxes.change("a", state="deleted")
    assert await DeadlineStore(database).live() == ["b"]
