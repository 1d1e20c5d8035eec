"""One stream of who drives and what is asked of people."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.composition.live_events import Follow, LiveEvents
from sandbox_server.core import Call, Caller, Event
from sandbox_server.core.dispatch import Dispatcher
from sandbox_server.core.operation import operations

pytestmark = pytest.mark.anyio

ANN = Caller("ann", frozenset({"view"}), person=True)


class Source:
    """A stream that a test writes to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.followed: list[str] = []
        self.closed = False
        self._coming: asyncio.Queue[object] = asyncio.Queue()

    def tell(self, data: object) -> None:
        self._coming.put_nowait(data)

    async def follow(self, call: Call) -> AsyncIterator[Event]:
        self.followed.append(call.caller.name)
        return self._events()

    async def _events(self) -> AsyncIterator[Event]:
        try:
            while (data := await self._coming.get()) is not None:
                yield Event(self.name, data)
        finally:
            self.closed = True


async def opened(*sources: Follow) -> AsyncIterator[Any]:
    [operation] = operations(LiveEvents(*sources))
    return await Dispatcher([]).stream(operation, {}, Call(ANN, "request"))


async def following(events: AsyncIterator[Any]) -> tuple[str, object]:
    async with asyncio.timeout(30):
        event = await anext(events)
    return event.event, event.data


async def test_the_events_of_all_sources_come_over_one_stream() -> None:
    control, handoffs = Source("control"), Source("handoffs")
    events = await opened(control.follow, handoffs.follow)
    handoffs.tell(1)
    assert await following(events) == ("handoffs", 1)
    control.tell(2)
    assert await following(events) == ("control", 2)
    control.tell(3)
    handoffs.tell(4)
    assert {await following(events), await following(events)} == {("control", 3), ("handoffs", 4)}
    assert control.followed == handoffs.followed == ["ann"]


async def test_all_sources_are_closed_with_the_stream() -> None:
    control, handoffs = Source("control"), Source("handoffs")
    events = await opened(control.follow, handoffs.follow)
    control.tell(1)
    await following(events)
    await events.aclose()  # type: ignore[attr-defined] # it is a generator
    assert (control.closed, handoffs.closed) == (True, True)


async def test_the_stream_ends_with_the_first_source_that_does() -> None:
    control, handoffs = Source("control"), Source("handoffs")
    events = await opened(control.follow, handoffs.follow)
    control.tell(None)
    async with asyncio.timeout(30):
        assert [event async for event in events] == []
    assert handoffs.closed


async def test_a_source_that_is_not_for_the_caller_is_left_out() -> None:
    async def refused(_: Call) -> AsyncIterator[Event] | None:
        return None

    control = Source("control")
    events = await opened(refused, control.follow)
    control.tell(1)
    assert await following(events) == ("control", 1)
