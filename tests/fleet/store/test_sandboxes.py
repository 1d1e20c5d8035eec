"""Sandboxes in the store."""

import asyncio
from datetime import UTC, datetime

import pytest
from tandem_fleet.backends.backend import Found, Phase
from tandem_fleet.errors import ConflictError, NotFoundError
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State, new_id
from tandem_fleet.store import sandboxes as module
from tandem_fleet.store.database import Database
from tandem_fleet.store.sandboxes import SandboxStore

pytestmark = pytest.mark.anyio
SPEC = Spec(image="image", environment={"A": "b"})


@pytest.fixture
async def store(database: Database) -> SandboxStore:
    """The store of these tests."""
    return SandboxStore(database)


async def made(store: SandboxStore, name: str, tenant: str = "default", key: str = "") -> Sandbox:
    """A sandbox that was asked for."""
    return await store.create(new_id(), name, tenant, SPEC, key=key)


async def test_a_sandbox_is_kept_as_it_was_made(store: SandboxStore) -> None:
    one = await made(store, "work")
    assert (one.name, one.spec, one.desired, one.state) == ("work", SPEC, Desired.RUNNING, State.CREATING)
    assert await store.get(one.id) == one
    assert await store.find("default", "work") == one
    assert await store.find("default", one.id) == one


async def test_a_name_is_taken_until_its_sandbox_is_deleted(store: SandboxStore) -> None:
    one = await made(store, "work")
    with pytest.raises(ConflictError, match="work"):
        await made(store, "work")
    await store.change(one.id, state=State.DELETED)
    two = await made(store, "work")
    assert (await store.find("default", "work")).id == two.id
    assert (await store.get(one.id)).state == State.DELETED


async def test_one_tenant_sees_nothing_of_another(store: SandboxStore) -> None:
    one = await made(store, "work", "one")
    two = await made(store, "work", "two")
    for name in (one.id, "nothing"):
        with pytest.raises(NotFoundError):
            await store.find("two", name)
    assert [sandbox for _, sandbox in await store.page("two")] == [two]
    assert [event.sandbox for event in await store.events("two", 0)] == [two]


async def test_the_same_request_made_again_gives_the_same_sandbox(store: SandboxStore) -> None:
    several = await asyncio.gather(*(made(store, "work", key="k") for _ in range(8)))
    assert {one.id for one in several} == {several[0].id}
    with pytest.raises(ConflictError, match="Idempotency-Key"):
        await made(store, "other", key="k")
    assert (await made(store, "other", "two", key="k")).id != several[0].id


async def test_a_list_is_read_in_pages(store: SandboxStore) -> None:
    names = [f"s{number}" for number in range(5)]
    for name in names:
        await made(store, name)
    seen, after = [], 0
    while page := await store.page("default", after=after, limit=2):
        seen += [sandbox.name for _, sandbox in page]
        after = page[-1][0]
    assert seen == names
    assert [sandbox.name async for sandbox in store.all()] == names


async def test_each_change_is_told_once_and_in_order(store: SandboxStore) -> None:
    one = await made(store, "work")
    await store.change(one.id, state=State.STARTING)
    await store.change(one.id, state=State.STARTING)
    await store.change(one.id, state=State.READY, address="http://127.0.0.1:1")
    told = await store.events("default", 0)
    assert [event.sandbox.state for event in told] == [State.CREATING, State.STARTING, State.READY]
    assert [event.sandbox.state for event in await store.events("default", told[1].number)] == [State.READY]
    assert await store.last_event() == told[-1].number


async def test_old_events_go(store: SandboxStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_EVENTS", 10)
    one = await made(store, "work")
    for number in range(1000):
        await store.change(one.id, failures=number + 1)
    told = await store.events("default", 0, limit=10_000)
    assert len(told) < 20
    assert told[-1].sandbox.failures == 1000


async def test_a_long_reason_is_cut(store: SandboxStore) -> None:
    one = await made(store, "work")
    assert len((await store.change(one.id, reason="x" * 5000)).reason) == module.REASON


@pytest.mark.parametrize(
    ("phase", "desired", "state"), [("running", "running", "starting"), ("paused", "paused", "starting"), ("stopped", "stopped", "stopped")]
)
async def test_what_exists_in_the_engine_alone_is_adopted_as_it_is(store: SandboxStore, phase: str, desired: str, state: str) -> None:
    found = Found(new_id(), "work", "default", SPEC, Phase(phase), datetime.now(UTC))
    adopted = await store.adopt(found)
    assert (adopted.id, adopted.name, adopted.desired, adopted.state, adopted.spec) == (found.id, "work", desired, state, SPEC)


async def test_one_that_is_adopted_beside_another_of_its_name_is_called_by_its_id(store: SandboxStore) -> None:
    await made(store, "work")
    found = Found(new_id(), "work", "default", SPEC, Phase.RUNNING, datetime.now(UTC))
    assert (await store.adopt(found)).name == found.id


async def test_what_was_ordered_since_it_was_looked_at_is_not_overwritten(store: SandboxStore) -> None:
    seen = await made(store, "work")
    ordered = await store.change(seen.id, desired=Desired.STOPPED)
    assert await store.change_from(seen, seen.id, state=State.READY) == (ordered, False)
    changed, was = await store.change_from(ordered, seen.id, state=State.READY)
    assert (changed.state, changed.desired, was) == (State.READY, Desired.STOPPED, True)


async def test_many_writers_have_their_turns(store: SandboxStore) -> None:
    made_by_all = await asyncio.gather(*(made(store, f"s{number}") for number in range(50)))
    await asyncio.gather(*(store.change(one.id, state=State.READY) for one in made_by_all))
    assert {one.state for _, one in await store.page()} == {State.READY}
