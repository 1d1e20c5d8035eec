"""Turns for mouse and keyboard: actions of two callers never interleave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.x11.desktop import Desktop

HOLD_SECONDS = 60.0
"""Seconds until a held key or button is released automatically."""


class InputTurns:
    """Gives out one turn at a time on a desktop."""

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
        """Wait for a turn. At its end everything is released; with `hold`, only after HOLD_SECONDS without another turn."""
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
        """End the last turn: what it left pressed is released once, now."""
        async with self._acting:
            if self._release:
                self._release.cancel()
                self._release = None
            if self._desktop.holds:
                await self._desktop.release_all()

    async def _release_later(self) -> None:
        await asyncio.sleep(HOLD_SECONDS)
        await self._desktop.release_all()
