"""Whose turn it is to use mouse and keyboard: what one caller does, nobody else's actions come between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.desktop import Desktop

HOLD_SECONDS = 60.0
"""How long a key or button stays down that nobody releases."""


class InputTurns:
    """One turn at a time on a desktop."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self._acting = asyncio.Lock()
        self._tasks = Tasks()
        self._release: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    @asynccontextmanager
    async def take(self, *, hold: bool) -> AsyncIterator[Desktop]:
        """Wait for a turn and have it; what is down at its end is released, with `hold` after HOLD_SECONDS without another turn."""
        async with self._acting:
            if self._release:
                self._release.cancel()
                self._release = None
            try:
                yield self._desktop
            finally:
                if not hold:
                    await self._desktop.release_all()
                elif self._desktop.holds:
                    self._release = self._tasks.start(self._release_later())

    async def interrupt(self) -> None:
        """End the turn of whoever had the last one: what that left pressed is released, now and not once more later."""
        async with self._acting:
            if self._release:
                self._release.cancel()
                self._release = None
            if self._desktop.holds:
                await self._desktop.release_all()

    async def _release_later(self) -> None:
        await asyncio.sleep(HOLD_SECONDS)
        await self._desktop.release_all()
