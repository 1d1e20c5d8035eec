"""Work that goes on only while its caller is there."""

import asyncio
from collections.abc import Awaitable

from sandbox_server.core.errors import Conflict, Failure
from sandbox_server.core.results import Call
from sandbox_server.core.tasks import start_task


class CallerLeft(Conflict):
    """The caller disconnected before the work had ended. Nobody receives it."""


async def unless_left[T](call: Call, work: Awaitable[T]) -> T:
    """Run the work of a call. Raises what it raises.

    Where the caller asked that the call ends with it, the work is cancelled when the caller disconnects: raises CallerLeft then.
    """
    if not call.ends_with_caller:
        return await work
    return await while_connected(call, work, CallerLeft("the caller has disconnected"))


async def while_connected[T](call: Call, work: Awaitable[T], left: Failure) -> T:
    """Run work as long as the caller is there. When it disconnects, the work is cancelled, and `left` is raised."""
    if call.disconnected is None:
        return await work
    working, leaving = start_task(work), start_task(call.disconnected())
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise left
        return await working
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait([working, leaving])
