"""Who is told what became of sandboxes."""

import asyncio

import pytest
from tandem_fleet.feed import Feed
from tandem_fleet.sandboxes import Sandbox, Spec, State, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore

from tests.waiting import eventually

pytestmark = pytest.mark.anyio


async def test_all_are_told_of_once_and_then_each_change(database: Database) -> None:
    store = SandboxStore(database)
    one = await store.create(new_id(), "one", "default", Spec())
    feed = Feed(store)
    told: list[Sandbox] = []
    feed.listeners.append(told.append)
    running = asyncio.create_task(feed.run())
    await eventually(lambda: len(told) == 1)
    two = await store.create(new_id(), "two", "other", Spec())
    await store.change(one.id, state=State.STARTING)
    await eventually(lambda: len(told) == 3)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [(each.id, each.state) for each in told] == [(one.id, "creating"), (two.id, "creating"), (one.id, "starting")]
