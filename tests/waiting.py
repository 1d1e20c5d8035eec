"""Waiting for what becomes true by itself."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def eventually(look: Callable[[], Any], within: float = 30.0) -> Any:
    """What `look()` gives, or what it gives awaited, once that is something; fails after `within` seconds."""
    async with asyncio.timeout(within):
        while True:
            found = look()
            value = await found if inspect.isawaitable(found) else found
            if value:
                return value
            await asyncio.sleep(0.01)
