"""How the tests of kernels wait."""

import inspect
from collections.abc import Awaitable, Callable

import anyio


async def until(true: Callable[[], object | Awaitable[object]], within: float = 30) -> None:
    """Return once `true()` holds; fail after `within` seconds."""
    with anyio.fail_after(within):
        while True:
            found = true()
            if await found if inspect.isawaitable(found) else found:
                return
            await anyio.sleep(0.01)
