"""Waiting for what becomes true by itself."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable


async def eventually[T](look: Callable[[], T | Awaitable[T]], within: float = 20.0) -> T:
    """What `look()` gives once it gives something; fails after `within` seconds."""
    async with asyncio.timeout(within):
        while True:
            found = look()
            value = await found if inspect.isawaitable(found) else found
            if value:
                return value  # type: ignore[no-any-return] # `isawaitable` does not tell mypy
            await asyncio.sleep(0.01)
