"""What is repaired by itself: after a crash of the service, of the engine, of a sandbox."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tandem_fleet import reconciler
from tandem_fleet.backends.backend import Found, Order, Phase
from tandem_fleet.fleet import Fleet
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS, SPEC, ready, told
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
MakeFleet = Callable[[], Fleet]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "RESYNC_SECONDS", 0.05)
    monkeypatch.setattr(reconciler, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(reconciler, "LONGEST_WAIT", 0.01)


async def becomes(fleet: Fleet, sandbox: str, state: State, failures: int | None = None) -> Sandbox:
    """Wait until a sandbox is in a state."""

    async def look() -> Sandbox | None:
        now = await fleet.get(sandbox)
        return now if now.state == state and failures in (None, now.failures) else None

    return cast("Sandbox", await eventually(look, SECONDS))


@pytest.mark.parametrize("cut", ["create", "keys", "start"])
async def test_a_service_that_is_killed_while_it_makes_one_finds_it_again(
    make_fleet: MakeFleet, engine: MemoryBackend, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = asyncio.Event()

    async def never(*_: object) -> None:
        waiting.set()
        await asyncio.Event().wait()

    create = engine.create
    with monkeypatch.context() as patched:
        if cut == "keys":

            async def create_alone(order: Order) -> None:
                await create(order)
                engine.keys.clear()
                await never()

            patched.setattr(engine, "create", create_alone)
        else:
            patched.setattr(engine, cut, never)
        async with make_fleet() as first:
            made = await first.create("default", SPEC, name="work", key="k")
            async with asyncio.timeout(SECONDS):
                await waiting.wait()
    async with make_fleet() as second:
        again = await second.create("default", SPEC, name="work", key="k")
        assert again.id == made.id
        assert (await second.settle(made.id, SECONDS)).state == State.READY
        assert list(engine.sandboxes) == [made.id]
        assert engine.keys[made.id] == second.key.key_set_json


async def test_a_service_that_is_killed_while_it_deletes_one_goes_on(make_fleet: MakeFleet, engine: MemoryBackend) -> None:
    async with make_fleet() as first:
        one = await ready(first)
        engine.refuses.add("delete")
        await first.order("default", "work", Desired.DELETED)
        await becomes(first, one.id, State.DELETING)
    engine.refuses.clear()
    async with make_fleet() as second:
        await becomes(second, one.id, State.DELETED)
        assert engine.sandboxes == {}


@pytest.mark.sqlite
async def test_a_store_that_was_lost_is_filled_from_the_engine(make_fleet: MakeFleet, engine: MemoryBackend, tmp_path: Path) -> None:
    async with make_fleet() as first:
        one, two = await ready(first, "one"), await ready(first, "two")
        await told(first, "two", Desired.STOPPED)
    for file in tmp_path.glob("fleet.db*"):
        file.unlink()
    async with make_fleet() as second:
        found = await becomes(second, one.id, State.READY)
        assert (found.name, found.spec) == ("one", SPEC)
        assert (await second.get(two.id)).state == State.STOPPED


async def test_a_container_that_comes_back_after_its_sandbox_was_deleted_goes(fleet: Fleet, engine: MemoryBackend) -> None:
    one = await ready(fleet)
    left = engine.sandboxes[one.id]
    await told(fleet, "work", Desired.DELETED)
    engine.sandboxes[one.id] = left
    await eventually(lambda: not engine.sandboxes, SECONDS)


async def test_one_that_ends_is_started_again_and_given_up_in_the_end(fleet: Fleet, engine: MemoryBackend) -> None:
    one = await ready(fleet)
    for failures in range(1, 5):
        engine.become(one.id, Phase.STOPPED, "it ended with exit code 137")
        await becomes(fleet, one.id, State.READY, failures)
    engine.become(one.id, Phase.STOPPED, "it ended with exit code 137")
    assert "exit code 137" in (await becomes(fleet, one.id, State.FAILED)).reason


async def test_one_that_somebody_removed_is_said_to_be(fleet: Fleet, engine: MemoryBackend) -> None:
    one = await ready(fleet)
    engine.become(one.id, None)
    assert (await becomes(fleet, one.id, State.FAILED)).reason == "it was removed from the engine"
    assert (await told(fleet, "work", Desired.RUNNING)).state == State.READY


async def test_one_that_moved_while_nobody_watched_is_found_at_its_address(fleet: Fleet, engine: MemoryBackend, gateway: str) -> None:
    one = await ready(fleet)
    engine.address = gateway.replace("127.0.0.1", "localhost")
    engine.become(one.id, Phase.RUNNING)

    async def is_there() -> bool:
        return (await fleet.get(one.id)).address == engine.address

    await eventually(is_there, SECONDS)


async def test_an_engine_that_is_away_fails_nobody(fleet: Fleet, engine: MemoryBackend) -> None:
    one = await ready(fleet)
    engine.away = True
    made = await fleet.create("default", SPEC, name="other")
    await fleet.order("default", "work", Desired.STOPPED)
    await asyncio.sleep(0.2)
    assert (await fleet.get(made.id)).state == State.CREATING
    assert (await fleet.get(one.id)).state == State.READY
    engine.away = False
    await becomes(fleet, made.id, State.READY)
    await becomes(fleet, one.id, State.STOPPED)


async def test_one_that_never_answers_fails_with_the_reason(fleet: Fleet, engine: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "READY_SECONDS", 0.1)
    engine.address = "http://127.0.0.1:9"
    made = await fleet.create("default", SPEC)
    assert "not ready within" in (await becomes(fleet, made.id, State.FAILED)).reason


def saying(find: Callable[[str], Awaitable[Found | None]], reason: str) -> Callable[[str], Awaitable[Found | None]]:
    """What an engine finds, with a reason."""

    async def found(sandbox: str) -> Found | None:
        one = await find(sandbox)
        return replace(one, reason=reason) if one else None

    return found


async def test_one_that_is_not_ready_says_what_the_engine_says_of_it(
    fleet: Fleet, engine: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciler, "READY_SECONDS", 0.1)
    monkeypatch.setattr(engine, "find", saying(engine.find, "0/1 nodes are available"))
    engine.address = ""
    made = await fleet.create("default", SPEC)
    assert (await becomes(fleet, made.id, State.FAILED)).reason.endswith(": 0/1 nodes are available")


async def test_many_are_made_and_each_once(fleet: Fleet, engine: MemoryBackend) -> None:
    made = [await fleet.create("default", Spec(image="image"), name=f"s{number}") for number in range(50)]
    await asyncio.gather(*(fleet.settle(one.id, SECONDS) for one in made))
    assert sorted(engine.sandboxes) == sorted(one.id for one in made)
    assert len([call for call in engine.calls if call.startswith("start")]) == 50


async def test_who_does_not_answer_holds_up_no_other(make_fleet: MakeFleet, engine: MemoryBackend, gateway: str) -> None:
    async with make_fleet() as fleet:
        engine.address = "http://127.0.0.1:9"
        for number in range(reconciler.AT_ONCE + 1):
            await fleet.create("slow", SPEC, name=f"s{number}")
        await eventually(lambda: sum(call.startswith("start") for call in engine.calls) > reconciler.AT_ONCE, SECONDS)
        engine.address = gateway
        await ready(fleet)
        assert (await told(fleet, "work", Desired.DELETED)).state == State.DELETED


async def test_a_deletion_that_the_engine_refuses_is_never_said_to_be_ready(fleet: Fleet, engine: MemoryBackend) -> None:
    one = await ready(fleet)
    last = await fleet._store.last_event()
    engine.refuses.add("delete")
    await fleet.order("default", "work", Desired.DELETED)
    looks = engine.calls.count(f"find {one.id}")
    await eventually(lambda: engine.calls.count(f"find {one.id}") > looks + 3, SECONDS)
    states = [event.sandbox.state for event in await fleet._store.events("default", last)]
    assert State.READY not in states[1:]
    assert (await fleet.get(one.id)).state == State.DELETING
