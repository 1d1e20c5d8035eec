"""Sandboxes are made ready for requests."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tandem_fleet.errors import QuotaError
from tandem_fleet.fleet import Fleet
from tandem_fleet.gateway import waking as waking_module
from tandem_fleet.gateway.waking import Waking, is_open
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio


@pytest.fixture
async def fleet(make_fleet: object, engine: MemoryBackend) -> AsyncIterator[Fleet]:
    """A fleet that works."""
    async with make_fleet() as opened:  # type: ignore[operator] # the fixture of the folder above
        yield opened


@pytest.fixture
async def waking(fleet: Fleet) -> AsyncIterator[Waking]:
    """It waits 20 s at most."""
    made = Waking(fleet, 20)
    yield made
    await made.close()


async def paused(fleet: Fleet) -> Sandbox:
    """A sandbox that sleeps."""
    made = await fleet.create("default", Spec(image="image"), name="work")
    await fleet.settle(made.id, 60)
    await fleet.order("default", made.id, Desired.PAUSED)
    return await fleet.settle(made.id, 60)


async def test_of_many_one_wakes_and_all_see_it_ready(fleet: Fleet, waking: Waking, engine: MemoryBackend) -> None:
    one = await paused(fleet)
    engine.calls.clear()
    woken = await asyncio.gather(*(waking.wake(one, 20) for _ in range(50)))
    assert all(sandbox is not None and is_open(sandbox) for sandbox in woken)
    assert engine.calls.count(f"start {one.id}") == 1


async def test_who_waits_no_longer_stops_nobody_else(fleet: Fleet, waking: Waking, engine: MemoryBackend) -> None:
    one = await paused(fleet)
    engine.address, there = "http://127.0.0.1:9", engine.address
    early = await waking.wake(one, 0.01)
    assert early is not None
    assert not is_open(early)
    other = asyncio.create_task(waking.wake(one, 20))
    engine.address = there
    engine.become(one.id, engine.sandboxes[one.id].phase)
    late = await other
    assert late is not None
    assert is_open(late)


async def test_the_store_is_asked_again_once_something_changed(fleet: Fleet, waking: Waking, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await paused(fleet)
    asked: list[str] = []
    get = fleet.get

    async def counted(sandbox: str) -> Sandbox:
        asked.append(sandbox)
        return await get(sandbox)

    monkeypatch.setattr(fleet, "get", counted)
    monkeypatch.setattr(waking_module, "NEWS_SECONDS", 3600)
    states = [(await waking.find(one.id), await waking.find(one.id))[1]]
    assert asked == [one.id]
    await fleet.order("default", one.id, Desired.RUNNING)
    states.append(await waking.find(one.id))
    assert [sandbox.desired for sandbox in states if sandbox] == [Desired.PAUSED, Desired.RUNNING]


async def test_what_is_deleted_or_never_was_is_not_found(fleet: Fleet, waking: Waking) -> None:
    one = await paused(fleet)
    await fleet.order("default", one.id, Desired.DELETED)
    assert await waking.find(one.id) is None
    assert await waking.wake(one, 20) is None
    assert await waking.find("abcdefghij234567") is None


async def test_one_that_is_being_paused_is_not_open(fleet: Fleet) -> None:
    one = await paused(fleet)
    assert not is_open(one.model_copy(update={"state": State.READY}))
    assert not is_open(one.model_copy(update={"state": State.READY, "desired": Desired.RUNNING, "address": ""}))


async def test_one_that_failed_is_not_started_again(fleet: Fleet, waking: Waking, engine: MemoryBackend) -> None:
    engine.refuses.add("create")
    made = await fleet.create("default", Spec(image="image"), name="work")
    while (one := await fleet.get(made.id)).state != State.FAILED:
        await fleet.database.wait_for_change(fleet.database.changes, 1)
    engine.calls.clear()
    woken = await waking.wake(one, 20)
    assert woken is not None
    assert woken.state == State.FAILED
    assert not [call for call in engine.calls if call.startswith(("create", "start"))]


async def test_one_that_may_not_run_is_refused_to_all_who_wait(fleet: Fleet, waking: Waking, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await paused(fleet)

    async def refuse(*_: object) -> Sandbox:
        raise QuotaError("your tenant has used its hours of this month")

    monkeypatch.setattr(fleet, "order", refuse)
    answers = await asyncio.gather(*(waking.wake(one, 20) for _ in range(3)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [QuotaError] * 3
