"""Calls that act, and a person who takes over in the middle of one."""

import asyncio

import pytest

from sandbox_server.core import Caller, HeldByHuman, Private
from sandbox_server.core.control import Holding
from sandbox_server.features.control.calls_in_flight import CallsInFlight

pytestmark = pytest.mark.anyio

AGENT, ANN = Caller("agent"), Caller("ann", person=True)
TAKEN = Holding(2, "human", "ann", frozenset({"gui", "cdp", "shell"}))


class Action:
    """Something that goes on until it is told to end, and what became of it."""

    def __init__(self) -> None:
        self.began, self.ends = asyncio.Event(), asyncio.Event()
        self.cleaned_up = False

    async def run(self) -> str:
        self.began.set()
        try:
            await self.ends.wait()
        finally:
            await asyncio.sleep(0)
            self.cleaned_up = True
        return "done"


async def test_an_action_that_nobody_interrupts_gives_its_result() -> None:
    calls, action = CallsInFlight(), Action()
    call = asyncio.create_task(calls.act(AGENT, ("gui",), action.run))
    await action.began.wait()
    action.ends.set()
    assert await call == "done"
    await calls.interrupt(TAKEN)


async def test_what_was_interrupted_has_ended_by_then_and_its_outcome_is_unknown() -> None:
    calls, action = CallsInFlight(), Action()
    call = asyncio.create_task(calls.act(AGENT, ("cdp",), action.run))
    await action.began.wait()
    await calls.interrupt(TAKEN)
    assert action.cleaned_up
    with pytest.raises(HeldByHuman) as refused:
        await call
    assert refused.value.details["outcome"] == "unknown"
    assert refused.value.details["epoch"] == 2


async def test_what_the_holder_does_and_what_is_not_held_goes_on() -> None:
    calls, own, other, shell = CallsInFlight(), Action(), Action(), Action()
    running = [
        asyncio.create_task(calls.act(ANN, ("gui",), own.run)),
        asyncio.create_task(calls.act(AGENT, ("cdp",), other.run)),
        asyncio.create_task(calls.act(AGENT, ("shell",), shell.run)),
    ]
    for action in (own, other, shell):
        await action.began.wait()
    await calls.interrupt(Holding(2, "human", "ann", frozenset({"gui", "shell"})))
    for action in (own, other, shell):
        action.ends.set()
    assert await asyncio.gather(*running) == ["done"] * 3


async def test_a_caller_that_gives_up_ends_its_action_and_is_not_told_of_a_person() -> None:
    calls, action = CallsInFlight(), Action()
    call = asyncio.create_task(calls.act(AGENT, ("gui",), action.run))
    await action.began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert action.cleaned_up


async def test_a_failure_of_the_action_itself_is_passed_on() -> None:
    async def fails() -> object:
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await CallsInFlight().act(AGENT, ("gui",), fails)


async def test_a_person_who_becomes_private_ends_what_shows_and_not_what_only_acts() -> None:
    calls, shown, own = CallsInFlight(), Action(), Action()
    looking, acting = asyncio.create_task(calls.show(AGENT, shown.run)), asyncio.create_task(calls.act(ANN, ("gui",), own.run))
    for action in (shown, own):
        await action.began.wait()
    await calls.interrupt(Holding(2, "human", "ann", frozenset({"gui", "cdp"}), private="ann"))
    assert (shown.cleaned_up, own.cleaned_up) == (True, False)
    with pytest.raises(Private, match="private: ann"):
        await looking
    own.ends.set()
    assert await acting == "done"
