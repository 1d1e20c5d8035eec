"""Streams that say that they go on."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tandem_fleet.e2b.streams import with_keepalives

pytestmark = pytest.mark.anyio


async def test_silence_is_filled_and_messages_keep_their_order() -> None:
    go_on = asyncio.Event()

    async def source() -> AsyncIterator[str]:
        yield "a"
        await go_on.wait()
        yield "b"

    seen = []
    async for message in with_keepalives(source(), 0.01, "-"):
        seen.append(message)
        if seen.count("-") == 3:
            go_on.set()
    assert [message for message in seen if message != "-"] == ["a", "b"]
    assert seen[1:4] == ["-", "-", "-"]


async def test_who_does_not_take_messages_stops_the_source() -> None:
    made = []

    async def source() -> AsyncIterator[int]:
        for number in range(1000):
            made.append(number)
            yield number

    stream = with_keepalives(source(), 60, -1)
    assert await anext(stream) == 0
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(made) < 20
    await stream.aclose()  # type: ignore[attr-defined] # a generator


async def test_a_failure_of_the_source_is_raised_and_leaving_closes_it() -> None:
    closed = asyncio.Event()

    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("gone")

    async def endless() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            closed.set()

    with pytest.raises(ValueError, match="gone"):
        _ = [message async for message in with_keepalives(failing(), 60, 0)]
    stream = with_keepalives(endless(), 60, 0)
    assert await anext(stream) == 1
    await stream.aclose()  # type: ignore[attr-defined] # a generator
    assert closed.is_set()
