"""What is followed of a tenant's sandboxes."""

from collections.abc import AsyncIterator

import pytest
from tandem_fleet.people import tenant_watch as module
from tandem_fleet.people.sandbox_calls import SandboxCalls
from tandem_fleet.people.tenant_watch import TenantWatch
from tandem_fleet.sandboxes import State
from tandem_fleet.store.people import PeopleStore

from tests.fleet.people.sandboxes import Sandboxes
from tests.fleet.stub_sandbox import StubSandbox, handoff
from tests.waiting import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def watch(sandboxes: Sandboxes, people: PeopleStore, calls: SandboxCalls) -> AsyncIterator[TenantWatch]:
    """A watch that is not opened."""
    made = TenantWatch("default", sandboxes.store, people, calls)
    yield made
    await made.close()


async def test_one_that_rests_is_not_followed_and_one_that_wakes_is(watch: TenantWatch, sandboxes: Sandboxes, stub: StubSandbox) -> None:
    one = await sandboxes.add(stub.address)
    await sandboxes.store.change(one.id, state=State.PAUSED)
    stub.handoffs = [handoff()]
    await watch.open()
    assert watch.queue("s") == []
    assert stub.requests == []
    await sandboxes.store.change(one.id, state=State.READY)
    await eventually(lambda: watch.queue("s"))


async def test_no_more_are_followed_or_shown_than_there_is_room_for(
    watch: TenantWatch, sandboxes: Sandboxes, stub: StubSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FOLLOWED", 1)
    monkeypatch.setattr(module, "MOST_TILES", 2)
    made = [await sandboxes.add(stub.address, f"s{number}") for number in range(3)]
    stub.handoffs = [handoff()]
    await watch.open()
    assert [watch.tile(one.id) is not None for one in made] == [True, True, False]
    await watch.reached(30)
    await eventually(lambda: [one.sandbox for one in watch.queue("s")] == [made[0].id])
