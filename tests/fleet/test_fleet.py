"""What callers ask of a fleet, and what becomes of it."""

import asyncio

import pytest
from tandem_fleet.errors import ConflictError, InvalidError, NotFoundError, SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio
SPEC = Spec(image="image")
SECONDS = 60


async def ready(fleet: Fleet, name: str = "work") -> Sandbox:
    """A sandbox that is ready."""
    made = await fleet.create("default", SPEC, name=name)
    return await fleet.settle(made.id, SECONDS)


async def told(fleet: Fleet, name: str, desired: Desired) -> Sandbox:
    """A sandbox that was told to become something, and did."""
    return await fleet.settle((await fleet.order("default", name, desired)).id, SECONDS)


async def test_a_sandbox_lives_as_it_is_told(fleet: Fleet, engine: MemoryBackend, gateway: str) -> None:
    one = await ready(fleet)
    assert (one.state, one.address) == (State.READY, gateway)
    assert engine.keys[one.id] == fleet.key.key_set_json
    for desired, state in (
        (Desired.PAUSED, State.PAUSED),
        (Desired.RUNNING, State.READY),
        (Desired.STOPPED, State.STOPPED),
        (Desired.RUNNING, State.READY),
    ):
        assert (await told(fleet, "work", desired)).state == state
    assert (await told(fleet, "work", Desired.DELETED)).state == State.DELETED
    assert engine.sandboxes == {}
    with pytest.raises(NotFoundError):
        await fleet.find("default", "work")


async def test_what_the_engine_refuses_is_said_and_can_be_tried_again(fleet: Fleet, engine: MemoryBackend) -> None:
    engine.refuses.add("create")
    made = await fleet.create("default", SPEC, name="work")
    with pytest.raises(SandboxFailedError, match="the engine refused: no create"):
        await fleet.settle(made.id, SECONDS)
    engine.refuses.clear()
    assert (await told(fleet, "work", Desired.RUNNING)).state == State.READY


async def test_one_that_failed_can_be_deleted(fleet: Fleet, engine: MemoryBackend) -> None:
    engine.refuses.add("create")
    made = await fleet.create("default", SPEC, name="work")
    with pytest.raises(SandboxFailedError):
        await fleet.settle(made.id, SECONDS)
    assert (await told(fleet, "work", Desired.DELETED)).state == State.DELETED


async def test_a_wait_ends_and_nothing_is_lost(fleet: Fleet, engine: MemoryBackend) -> None:
    engine.address = "http://127.0.0.1:9"
    made = await fleet.create("default", SPEC)
    with pytest.raises(TimeoutError, match="is still"):
        await fleet.settle(made.id, 0.2)
    assert (await fleet.find("default", made.id)).desired == Desired.RUNNING


async def test_only_what_is_ready_is_paused(fleet: Fleet) -> None:
    await ready(fleet)
    await told(fleet, "work", Desired.STOPPED)
    with pytest.raises(ConflictError, match="only one that is ready"):
        await fleet.order("default", "work", Desired.PAUSED)


async def test_what_is_being_deleted_becomes_nothing_else(fleet: Fleet, engine: MemoryBackend) -> None:
    await ready(fleet)
    engine.refuses.add("delete")
    await fleet.order("default", "work", Desired.DELETED)
    with pytest.raises(ConflictError, match="being deleted"):
        await fleet.order("default", "work", Desired.RUNNING)


@pytest.mark.parametrize("name", ["-a", "A", "a.b", "a" * 41, "a/b"])
async def test_a_name_that_is_no_part_of_a_host_name_is_refused(fleet: Fleet, name: str) -> None:
    with pytest.raises(InvalidError, match="name"):
        await fleet.create("default", SPEC, name=name)


@pytest.mark.parametrize("variable", ["JWT_JWKS_FILE", "JWT_AUDIENCE", "SANDBOX_API_KEY", "AUTH", "IDENTITY_SANDBOX_ID", "a b", "A=B", ""])
async def test_who_may_call_a_sandbox_is_not_the_creators_to_say(fleet: Fleet, variable: str) -> None:
    with pytest.raises(InvalidError, match="environment"):
        await fleet.create("default", Spec(image="image", environment={variable: "x"}))


async def test_labels_of_the_fleet_are_not_the_creators(fleet: Fleet) -> None:
    with pytest.raises(InvalidError, match="label"):
        await fleet.create("default", Spec(image="image", labels={"tandem.fleet": "another"}))


async def test_events_are_told_from_where_one_was_left(fleet: Fleet) -> None:
    one = await ready(fleet)
    states = []
    async with asyncio.timeout(SECONDS):
        async for event in fleet.events("default", 0):
            states.append(event.sandbox.state)
            if event.sandbox.state == State.READY:
                break
    assert states == [State.CREATING, State.STARTING, State.READY]
    waiting = fleet.events("default", event.number)
    await fleet.order("default", one.id, Desired.PAUSED)
    async with asyncio.timeout(SECONDS):
        assert (await anext(waiting)).sandbox.desired == Desired.PAUSED
    await waiting.aclose()  # type: ignore[attr-defined] # a generator


async def test_the_doctor_names_what_is_missing(fleet: Fleet, engine: MemoryBackend) -> None:
    engine.refuses.add("create")
    made = await fleet.create("default", SPEC, name="work")
    with pytest.raises(SandboxFailedError):
        await fleet.settle(made.id, SECONDS)
    engine.away = True
    holds = {finding.name: finding.holds for finding in await fleet.examine()}
    assert holds == {"engine": False, "store": True, "pools": True, "sandboxes": False}


async def test_an_order_does_not_undo_a_deletion_that_came_between(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await ready(fleet)
    find = fleet._store.find

    async def read_then_deleted(tenant: str, name: str) -> Sandbox:
        read = await find(tenant, name)
        if read.desired != Desired.DELETED:
            await fleet._store.change(one.id, desired=Desired.DELETED)
        return read

    monkeypatch.setattr(fleet._store, "find", read_then_deleted)
    with pytest.raises(ConflictError, match="being deleted"):
        await fleet.order("default", "work", Desired.STOPPED)
    assert (await fleet.get(one.id)).desired == Desired.DELETED


async def test_events_of_before_come_without_a_wait(fleet: Fleet) -> None:
    one = await ready(fleet)
    for number in range(250):
        await fleet._store.change(one.id, failures=number % 2 + 1)
    async with asyncio.timeout(SECONDS):
        events = fleet.events("default", 0)
        told = [await anext(events) for _ in range(250)]
    assert [event.number for event in told] == sorted(event.number for event in told)


@pytest.mark.parametrize("spec", [Spec(image="a\0"), Spec(labels={"a": "\0"}), Spec(environment={"A": "\0"}), Spec(runtime="a\0")])
async def test_what_no_store_keeps_is_refused(fleet: Fleet, spec: Spec) -> None:
    with pytest.raises(InvalidError, match="NUL"):
        await fleet.create("default", spec)
