"""Answers that go on: so many of a tenant, and only while their caller may still call."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator

from fastapi import Request

from tandem_fleet.api.authorization import identified
from tandem_fleet.errors import ConflictError, ForbiddenError, UnauthorizedError

MOST_STREAMS = 64
"""Open streams of a tenant."""
LOOK_SECONDS = 10.0
"""How often it is seen whether the caller's key or session still is."""


class Streams:
    """Counts a tenant's answers that go on, and refuses one too many."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def begin(self, tenant: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines as one more stream. Raises `ConflictError`."""
        if self._open[tenant] >= MOST_STREAMS:
            raise ConflictError(f"{MOST_STREAMS} streams are open already")
        return self._counted(tenant, lines)

    async def _counted(self, tenant: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._open[tenant] += 1
        try:
            async with contextlib.aclosing(lines):  # type: ignore[type-var] # a generator
                async for line in lines:
                    yield line
        finally:
            self._open[tenant] -= 1


async def while_known(request: Request, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines, until the key or the session of the request that asked for them is revoked or over."""
    next_line: asyncio.Task[bytes] | None = None
    looked = time.monotonic()
    try:
        while True:
            next_line = next_line or asyncio.ensure_future(_next(lines))
            await asyncio.wait([next_line], timeout=max(0.0, looked + LOOK_SECONDS - time.monotonic()))
            if time.monotonic() - looked >= LOOK_SECONDS:
                looked = time.monotonic()
                if not await _is_known(request):
                    return
            if next_line.done():
                try:
                    line = next_line.result()
                except StopAsyncIteration:
                    return
                next_line = None
                yield line
    finally:
        if next_line is not None:
            next_line.cancel()
            await asyncio.gather(next_line, return_exceptions=True)
        await lines.aclose()  # type: ignore[attr-defined] # a generator


async def _next(lines: AsyncIterator[bytes]) -> bytes:
    return await anext(lines)


async def _is_known(request: Request) -> bool:
    try:
        await identified(request)
    except (UnauthorizedError, ForbiddenError):
        return False
    return True
