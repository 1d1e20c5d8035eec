"""What becomes of sandboxes that nobody uses."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from tandem_fleet import idleness
from tandem_fleet.errors import SandboxFailedError
from tandem_fleet.fleet import Fleet
from tandem_fleet.idle_policy import IdlePolicy
from tandem_fleet.idleness import IdleWatch, next_stage, read_idleness
from tandem_fleet.sandbox_client import SandboxClient
from tandem_fleet.sandboxes import Desired, Sandbox, Spec, State

from tests.fleet.answering import Answering, Call
from tests.fleet.engines import MemoryBackend
from tests.fleet.test_fleet import SECONDS
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
SOON = 0.3 / 60
IDLE = "GET /v1/idleness"


@pytest.fixture
def gateway(answers: Answering) -> str:
    """Sandboxes that say whether they are used."""
    answers.answers[IDLE] = (200, said(1e6))
    return answers.address


def said(seconds: float, *active: str) -> dict[str, Any]:
    """What a sandbox answers."""
    return {"success": True, "message": "", "data": {"idle_seconds": seconds, "active": list(active)}}


def sandbox(state: State, desired: Desired, **idle: float) -> Sandbox:
    """One with a policy."""
    now = datetime.now(UTC)
    spec = Spec(idle=IdlePolicy(**idle) if idle else None)
    return Sandbox(id="a", name="a", tenant="t", spec=spec, desired=desired, state=state, created_at=now, changed_at=now)


async def becomes(fleet: Fleet, number: str, state: State) -> Sandbox:
    """Wait until a sandbox is in a state."""

    async def look() -> Sandbox | None:
        now = await fleet.get(number)
        return now if now.state == state else None

    return cast("Sandbox", await eventually(look, SECONDS))


async def test_one_that_nobody_uses_is_paused_stopped_and_removed(fleet: Fleet, engine: MemoryBackend) -> None:
    idle = IdlePolicy(pause_after_minutes=SOON, stop_after_minutes=SOON, delete_after_minutes=SOON)
    made = await fleet.create("default", Spec(image="image", idle=idle))
    for state in (State.PAUSED, State.STOPPED, State.DELETED):
        await becomes(fleet, made.id, state)
    assert [call.split()[0] for call in engine.calls if not call.startswith(("find", "list", "watch"))] == [
        "create",
        "start",
        "pause",
        "stop",
        "delete",
    ]


async def test_one_that_is_used_goes_on_and_is_asked_no_more_often_than_it_could_be_idle(fleet: Fleet, answers: Answering) -> None:
    answers.answers[IDLE] = (200, said(0, "people"))
    made = await fleet.create("default", Spec(image="image", idle=IdlePolicy(pause_after_minutes=1 / 60)))
    begun = asyncio.get_running_loop().time()
    await eventually(lambda: len(answers.called(IDLE)) >= 3, SECONDS)
    assert asyncio.get_running_loop().time() - begun > 2.5
    assert (await fleet.get(made.id)).state == State.READY
    answers.answers[IDLE] = (200, said(1e6))
    await becomes(fleet, made.id, State.PAUSED)


async def test_one_that_was_woken_has_its_time_again(fleet: Fleet) -> None:
    made = await fleet.create("default", Spec(image="image", idle=IdlePolicy(pause_after_minutes=1 / 60)))
    await becomes(fleet, made.id, State.PAUSED)
    await fleet.order("default", made.id, Desired.RUNNING)
    woken = await becomes(fleet, made.id, State.READY)
    slept = await becomes(fleet, made.id, State.PAUSED)
    assert (slept.changed_at - woken.changed_at).total_seconds() >= 1


async def test_a_policy_that_changes_holds_at_once(fleet: Fleet) -> None:
    made = await fleet.create("default", Spec(image="image"))
    await fleet.settle(made.id, SECONDS)
    await fleet.set_idle("default", made.id, IdlePolicy(stop_after_minutes=SOON))
    assert (await becomes(fleet, made.id, State.STOPPED)).desired == Desired.STOPPED


async def test_one_that_does_not_say_whether_it_is_used_is_left_alone_and_asked_again(
    fleet: Fleet, answers: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idleness, "UNKNOWN_SECONDS", 0.05)
    answers.answers[IDLE] = (404, {"message": "no such operation"})
    made = await fleet.create("default", Spec(image="image", idle=IdlePolicy(pause_after_minutes=SOON)))
    await eventually(lambda: len(answers.called(IDLE)) >= 2, SECONDS)
    assert (await fleet.get(made.id)).state == State.READY
    answers.answers[IDLE] = (200, said(1e6))
    await becomes(fleet, made.id, State.PAUSED)


async def test_one_that_was_ordered_something_while_it_was_asked_is_left_alone(fleet: Fleet, answers: Answering) -> None:
    made = await fleet.create("default", Spec(image="image", idle=IdlePolicy(pause_after_minutes=SOON)))
    asked = asyncio.Event()

    async def order_meanwhile(_: Call) -> tuple[int, Any]:
        if not asked.is_set():
            await fleet.order("default", made.id, Desired.STOPPED)
            asked.set()
        return 200, said(1e6)

    answers.answers[IDLE] = order_meanwhile
    async with asyncio.timeout(SECONDS):
        await asked.wait()
    await becomes(fleet, made.id, State.STOPPED)
    assert (await fleet.get(made.id)).desired == Desired.STOPPED


@pytest.mark.parametrize(
    ("state", "desired", "idle", "stage"),
    [
        (State.READY, Desired.RUNNING, {"pause_after_minutes": 1, "stop_after_minutes": 2}, (Desired.PAUSED, 60)),
        (State.READY, Desired.RUNNING, {"stop_after_minutes": 2}, (Desired.STOPPED, 120)),
        (State.READY, Desired.RUNNING, {"delete_after_minutes": 2}, None),
        (State.READY, Desired.RUNNING, {}, None),
        (State.STARTING, Desired.RUNNING, {"pause_after_minutes": 1}, None),
        (State.READY, Desired.STOPPED, {"pause_after_minutes": 1}, None),
        (State.PAUSED, Desired.PAUSED, {"pause_after_minutes": 1, "stop_after_minutes": 2}, (Desired.STOPPED, 120)),
        (State.PAUSED, Desired.RUNNING, {"stop_after_minutes": 2}, None),
        (State.STOPPED, Desired.STOPPED, {"delete_after_minutes": 3}, (Desired.DELETED, 180)),
        (State.STOPPED, Desired.STOPPED, {"stop_after_minutes": 3}, None),
    ],
)
def test_the_next_stage_is_what_the_policy_says(state: State, desired: Desired, idle: dict[str, float], stage: object) -> None:
    assert next_stage(sandbox(state, desired, **idle)) == stage


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"idle_seconds": "x", "active": []}, {"idle_seconds": float("nan"), "active": []}, {"idle_seconds": 1}]
)
def test_an_answer_that_says_nothing_is_no_idleness(answer: Any) -> None:
    with pytest.raises(SandboxFailedError):
        read_idleness(sandbox(State.READY, Desired.RUNNING), answer)
    assert read_idleness(sandbox(State.READY, Desired.RUNNING), {"idle_seconds": -1, "active": []}) == 0


async def test_a_thousand_are_each_asked_when_they_are_due(answers: Answering) -> None:
    asked: list[str] = []

    class Client(SandboxClient):
        def __init__(self) -> None: ...

        async def call(self, sandbox: Sandbox, *_: Any, **__: Any) -> Any:
            asked.append(sandbox.id)
            return {"idle_seconds": 0, "active": ["commands"]}

    now = datetime.now(UTC)
    many = {
        f"s{number}": sandbox(State.READY, Desired.RUNNING, pause_after_minutes=10).model_copy(
            update={"id": f"s{number}", "changed_at": now - timedelta(minutes=9 if number % 10 else 11)}
        )
        for number in range(1000)
    }

    async def get(number: str) -> Sandbox:
        return many[number]

    async def change(*_: object) -> None:
        raise AssertionError("all are used")

    watch = IdleWatch(Client(), get, change)
    for one in many.values():
        watch.note(one)
    running = asyncio.create_task(watch.run())
    try:
        await eventually(lambda: len(asked) == 100, SECONDS)
        for one in many.values():
            watch.note(one)  # an event that changes nothing, of those that are not due
        await eventually(lambda: len(asked) == 200, SECONDS)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert set(asked) == {f"s{number}" for number in range(0, 1000, 10)}
