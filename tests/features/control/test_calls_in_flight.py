"""Calls that act, and a person who takes over in the middle of one."""

import asyncio

import pytest

from sandbox_server.core import Caller, HeldByHuman
from sandbox_server.core.control import Holding
from sandbox_server.features.control.calls_in_flight import Acts

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
    acts, action = Acts(), Action()
    call = asyncio.create_task(acts.run(AGENT, ("gui",), action.run))
    await action.began.wait()
    action.ends.set()
    assert await call == "done"
    await acts.interrupt(TAKEN)


async def test_what_was_interrupted_has_ended_by_then_and_its_outcome_is_unknown() -> None:
    acts, action = Acts(), Action()
    call = asyncio.create_task(acts.run(AGENT, ("cdp",), action.run))
    await action.began.wait()
    await acts.interrupt(TAKEN)
    assert action.cleaned_up
    with pytest.raises(HeldByHuman) as refused:
        await call
    assert refused.value.details["outcome"] == "unknown"
    assert refused.value.details["epoch"] == 2


async def test_what_the_holder_does_and_what_is_not_held_goes_on() -> None:
    acts, own, other, shell = Acts(), Action(), Action(), Action()
    calls = [
        asyncio.create_task(acts.run(ANN, ("gui",), own.run)),
        asyncio.create_task(acts.run(AGENT, ("cdp",), other.run)),
        asyncio.create_task(acts.run(AGENT, ("shell",), shell.run)),
    ]
    for action in (own, other, shell):
        await action.began.wait()
    await acts.interrupt(Holding(2, "human", "ann", frozenset({"gui", "shell"})))
    for action in (own, other, shell):
        action.ends.set()
    assert await asyncio.gather(*calls) == ["done"] * 3


async def test_a_caller_that_gives_up_ends_its_action_and_is_not_told_of_a_person() -> None:
    acts, action = Acts(), Action()
    call = asyncio.create_task(acts.run(AGENT, ("gui",), action.run))
    await action.began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert action.cleaned_up


async def test_a_failure_of_the_action_itself_is_passed_on() -> None:
    async def fails() -> object:
        raise ValueError("its own")

    with pytest.raises(ValueError, match="its own"):
        await Acts().run(AGENT, ("gui",), fails)
