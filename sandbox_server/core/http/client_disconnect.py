"""Cancels work when its client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request

from sandbox_server.core.errors import Conflict
from sandbox_server.core.tasks import start_task


async def while_connected[T](request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Run the work, and cancel it when the client disconnects. The request's body has to be read before.

    Raises what the work raises; Conflict after a disconnect, which nobody receives.
    """
    working, watching = start_task(work), start_task(until_disconnected(request))
    try:
        await asyncio.wait([working, watching], return_when=asyncio.FIRST_COMPLETED)
    finally:
        watching.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait([working])
    if working.cancelled():
        raise Conflict("the client has disconnected")
    return working.result()


async def until_disconnected(request: Request) -> None:
    """Wait until the client disconnects. The request's body has to be read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
