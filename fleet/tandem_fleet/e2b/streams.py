"""Streams that say that they go on while there is nothing to say."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")
AHEAD = 8
"""Messages that are read before the last one is taken."""


async def with_keepalives(messages: AsyncIterator[T], seconds: float, keepalive: T) -> AsyncIterator[T]:
    """The messages, and a `keepalive` each time that none has come for some seconds."""
    queue: asyncio.Queue[T | None] = asyncio.Queue()
    room = asyncio.Semaphore(AHEAD)

    async def read() -> None:
        async with aclosing(messages):  # type: ignore[type-var] # a generator
            async for message in messages:
                await room.acquire()
                queue.put_nowait(message)

    reading = asyncio.create_task(read())
    reading.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while True:
            item: T | None = keepalive
            try:
                async with asyncio.timeout(seconds):
                    item = await queue.get()
                    room.release()
            except TimeoutError:
                pass
            if item is None:
                await reading
                return
            yield item
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
