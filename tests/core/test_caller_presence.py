"""Work that ends with its caller, where the caller asked for that."""

import asyncio

import pytest

from sandbox_server.core import Call, Caller, Conflict
from sandbox_server.core.caller_presence import CallerLeft, unless_left, while_connected

pytestmark = pytest.mark.anyio


class Leaving:
    """A caller who leaves, and the work of its call."""

    def __init__(self) -> None:
        self.left, self.began, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.cancelled = False

    async def disconnected(self) -> None:
        await self.left.wait()

    async def work(self) -> str:
        self.began.set()
        try:
            await self.ended.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return "done"

    def call(self, *, ends: bool) -> Call:
        return Call(Caller("agent"), "request", disconnected=self.disconnected, ends_with_caller=ends)


async def test_the_work_is_cancelled_when_a_caller_who_asked_for_it_disconnects() -> None:
    caller = Leaving()
    running = asyncio.create_task(unless_left(caller.call(ends=True), caller.work()))
    await caller.began.wait()
    caller.left.set()

    with pytest.raises(CallerLeft):
        await running
    assert caller.cancelled


async def test_the_work_of_any_other_caller_goes_on() -> None:
    caller = Leaving()
    caller.left.set()
    running = asyncio.create_task(unless_left(caller.call(ends=False), caller.work()))
    await caller.began.wait()
    caller.ended.set()

    assert await running == "done"


async def test_work_that_ends_first_gives_its_result_and_its_exception() -> None:
    caller = Leaving()
    caller.ended.set()

    async def fails() -> None:
        raise ValueError("no")

    assert await unless_left(caller.call(ends=True), caller.work()) == "done"
    with pytest.raises(ValueError, match="no"):
        await unless_left(caller.call(ends=True), fails())


async def test_work_that_needs_its_caller_ends_with_any_and_says_so_in_its_own_words() -> None:
    caller = Leaving()
    running = asyncio.create_task(while_connected(caller.call(ends=False), caller.work(), Conflict("nobody hears it")))
    await caller.began.wait()
    caller.left.set()

    with pytest.raises(Conflict, match="nobody hears it"):
        await running
    assert caller.cancelled
