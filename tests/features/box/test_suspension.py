import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from sandbox_server.core import Caller, Conflict, HeldByHuman, Unavailable, operation
from sandbox_server.core.control import Holding
from sandbox_server.core.operation import Operation, operations
from sandbox_server.features.box.suspension import Suspension
from tests.features.box.conftest import CALL, FakeBox

pytestmark = pytest.mark.anyio


class Work:
    """A feature that needs the box."""

    tag = "work"

    @operation("POST /v1/work", scope="shell")
    async def work(self) -> None:
        """Do something."""

    @operation("GET /v1/public", scope="public")
    async def look(self) -> None:
        """Look at something."""


class Files:
    """A feature on the box's files that needs its processes only to change something."""

    tag = "checkpoints"

    @operation("GET /v1/list", scope="view")
    async def look_up(self) -> None:
        """List."""

    @operation("POST /v1/make", scope="shell")
    async def make(self) -> None:
        """Make one."""


WORK, LOOK = operations(Work())
LOOK_UP, MAKE = operations(Files())


async def call(suspension: Suspension, called: Operation, run: Callable[[], Awaitable[object]] = lambda: asyncio.sleep(0)) -> None:
    await suspension.guard(called, None, CALL, run)


async def no_messages() -> int:
    return 0


def made(
    daemon: FakeBox, idle: float = 0.0, busy: Callable[[], bool] = lambda: False, messages: Callable[[], Awaitable[int]] = no_messages
) -> Suspension:
    return Suspension(daemon, idle_seconds=idle, busy=busy, messages=messages)


async def test_a_new_box_is_not_asked_before_the_first_call_and_one_that_was_there_is(daemon: FakeBox) -> None:
    await call(Suspension(daemon, idle_seconds=0, busy=lambda: False, messages=no_messages, running=True), WORK)
    assert daemon.operations() == []
    await call(made(daemon), WORK)
    assert daemon.operations() == ["thaw"]


async def test_a_suspended_box_is_resumed_for_whoever_needs_it_and_only_once(daemon: FakeBox) -> None:
    suspension = made(daemon)
    await suspension.suspend()
    await call(suspension, WORK)
    await call(suspension, WORK)
    assert daemon.operations() == ["freeze", "thaw"]


async def test_whoever_does_not_need_the_box_leaves_it_suspended(daemon: FakeBox) -> None:
    daemon.answers["status"] = {"frozen": True, "processes": 3}
    suspension = made(daemon)
    await suspension.suspend()
    await call(suspension, LOOK)
    asking = next(one for one in operations(suspension) if one.spec.name == "suspension_state")
    await call(suspension, asking)
    assert (await suspension.suspension_state()).state == "suspended"
    assert "thaw" not in daemon.operations()


async def test_looking_at_checkpoints_leaves_the_box_suspended_and_making_one_does_not(daemon: FakeBox) -> None:
    suspension = made(daemon)
    await suspension.suspend()
    await call(suspension, LOOK_UP)
    assert "thaw" not in daemon.operations()
    await call(suspension, MAKE)
    assert "thaw" in daemon.operations()


async def test_the_first_caller_of_a_new_server_resumes_what_an_old_one_left(daemon: FakeBox) -> None:
    await call(made(daemon), WORK)
    assert daemon.operations() == ["thaw"]


async def test_a_failing_call_is_no_reason_to_stay_awake(daemon: FakeBox) -> None:
    async def fail() -> None:
        raise Conflict("no")

    suspension = made(daemon, idle=0.05)
    async with suspension:
        with pytest.raises(Conflict):
            await call(suspension, WORK, fail)
        await asyncio.wait_for(daemon.seen("freeze"), 30)


async def test_an_idle_box_is_suspended_but_not_a_busy_one(daemon: FakeBox) -> None:
    busy, looked = [True], asyncio.Semaphore(0)

    def look() -> bool:
        looked.release()
        return busy[0]

    suspension = made(daemon, idle=0.05, busy=look)
    async with suspension:
        await call(suspension, WORK)
        await asyncio.wait_for(looked.acquire(), 30)
        await asyncio.wait_for(looked.acquire(), 30)
        assert "freeze" not in daemon.operations()
        busy[0] = False
        await asyncio.wait_for(daemon.seen("freeze"), 30)


async def test_a_box_that_nobody_has_ever_needed_is_suspended_too(daemon: FakeBox) -> None:
    async with made(daemon, idle=0.05):
        await asyncio.wait_for(daemon.seen("freeze"), 30)


async def test_a_call_that_lasts_keeps_the_box_awake(daemon: FakeBox) -> None:
    suspension = made(daemon, idle=0.05)
    end = asyncio.Event()
    async with suspension:
        lasting = asyncio.create_task(call(suspension, WORK, end.wait))
        await asyncio.sleep(0)
        assert suspension._calls == 1
        end.set()
        await lasting
        assert suspension._calls == 0


async def test_messages_that_come_past_the_server_keep_the_box_awake(daemon: FakeBox) -> None:
    driven, looked, total = [True], asyncio.Semaphore(0), 0

    async def messages() -> int:
        nonlocal total
        total += driven[0]
        looked.release()
        return total

    async with made(daemon, idle=0.05, messages=messages):
        for _ in range(12):
            await asyncio.wait_for(looked.acquire(), 30)
        assert "freeze" not in daemon.operations()
        driven[0] = False
        await asyncio.wait_for(daemon.seen("freeze"), 30)


async def test_where_nothing_counts_messages_an_idle_box_is_suspended(daemon: FakeBox) -> None:
    async def messages() -> int:
        raise Unavailable("there is no browser")

    async with made(daemon, idle=0.05, messages=messages):
        await asyncio.wait_for(daemon.seen("freeze"), 30)


async def test_whoever_comes_while_the_box_is_being_suspended_resumes_it(daemon: FakeBox, monkeypatch: pytest.MonkeyPatch) -> None:
    suspension, freezing, let_go = made(daemon), asyncio.Event(), asyncio.Event()
    await call(suspension, WORK)
    ask = daemon.ask

    async def held(operation: str, **fields: object) -> dict[str, object]:
        if operation == "freeze":
            freezing.set()
            await let_go.wait()
        return await ask(operation, **fields)  # type: ignore[arg-type] # as they came

    monkeypatch.setattr(daemon, "ask", held)
    suspending = asyncio.create_task(suspension.suspend())
    await freezing.wait()
    working = asyncio.create_task(call(suspension, WORK))
    await asyncio.sleep(0)
    let_go.set()
    await asyncio.gather(suspending, working)
    assert daemon.operations() == ["thaw", "freeze", "thaw"]


async def test_whoever_comes_while_messages_are_counted_keeps_the_box_awake(daemon: FakeBox) -> None:
    counting, let_go, end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def messages() -> int:
        counting.set()
        await let_go.wait()
        return 0

    suspension = made(daemon, messages=messages)
    suspension._active_at -= 3600
    looking = asyncio.create_task(suspension.seconds_idle(active=False))
    await counting.wait()
    lasting = asyncio.create_task(call(suspension, WORK, end.wait))
    await asyncio.sleep(0)
    assert suspension.in_use
    let_go.set()
    assert await looking < 3600
    end.set()
    await lasting


async def test_what_a_person_who_drives_has_suspended_is_resumed_by_that_person_alone(daemon: FakeBox) -> None:
    daemon.answers["status"] = {"frozen": True, "processes": 3}
    holding = Holding(2, "human", "ann", frozenset({"gui"}))
    suspension = Suspension(daemon, idle_seconds=0, busy=lambda: False, messages=no_messages, holding=lambda: holding)
    await suspension.suspend()
    with pytest.raises(HeldByHuman, match="ann has control"):
        await call(suspension, WORK)
    assert "thaw" not in daemon.operations()
    await suspension.guard(WORK, None, replace(CALL, caller=Caller("ann", person=True)), lambda: asyncio.sleep(0))
    await call(suspension, WORK)
    assert daemon.operations().count("thaw") == 1


async def test_while_a_person_drives_a_program_needs_no_leave_for_a_box_that_runs(daemon: FakeBox) -> None:
    daemon.answers["status"] = {"frozen": False, "processes": 3}
    holding = Holding(2, "human", "ann", frozenset({"gui"}))
    suspension = Suspension(daemon, idle_seconds=0, busy=lambda: False, messages=no_messages, holding=lambda: holding)
    await call(suspension, WORK)
    await call(suspension, WORK)
    assert daemon.operations() == ["status"]


def test_suspending_and_resuming_act_on_what_a_person_may_hold(daemon: FakeBox) -> None:
    acts = {each.spec.name: each.spec.acts for each in operations(made(daemon))}
    assert acts == {"suspend": ("shell", "gui", "cdp"), "resume": ("shell", "gui", "cdp"), "suspension_state": ()}
