"""What holds for the whole fleet."""

import pytest
from tandem_fleet.errors import DrainingError
from tandem_fleet.sandboxes import Desired, Spec, State, new_id
from tandem_fleet.store.database import Database
from tandem_fleet.store.facts import DRAINING, FactStore
from tandem_fleet.store.sandboxes import SandboxStore

pytestmark = pytest.mark.anyio


async def test_a_fact_holds_until_it_is_taken_back(database: Database) -> None:
    store = FactStore(database)
    assert await store.get("a") is None
    await store.set("a", {"b": 1})
    await store.set("a", [2])
    assert await store.get("a") == [2]
    await store.set("a", None)
    await store.set("a", None)
    assert await store.get("a") is None


async def test_while_the_fleet_is_emptied_nothing_begins_and_what_runs_may_end(database: Database) -> None:
    store = SandboxStore(database)
    running = await store.create(new_id(), "a", "default", Spec())
    stopped = await store.create(new_id(), "b", "default", Spec())
    await store.change(stopped.id, desired=Desired.STOPPED, state=State.STOPPED)
    await FactStore(database).set(DRAINING, value=True)
    with pytest.raises(DrainingError):
        await store.create(new_id(), "c", "default", Spec())
    with pytest.raises(DrainingError):
        await store.change(stopped.id, desired=Desired.RUNNING)
    await store.change(running.id, desired=Desired.STOPPED)
    await FactStore(database).set(DRAINING, None)
    await store.change(stopped.id, desired=Desired.RUNNING)
