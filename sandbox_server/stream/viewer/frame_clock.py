"""The frame clock of one viewer: when the next frame may be sent."""

import asyncio
import time
from contextlib import suppress

from sandbox_server.stream.viewer.access import ViewerAccess

FRAME_SECONDS = 1 / 60
"""Least time between the starts of two frames, for who drives and for programs: screens show no more."""
WATCH_SECONDS = 1 / 15
"""The same for a person who only watches: the processor is the agent's then."""


class FrameClock:
    """Waits until something is new or due, and no sooner after a frame than the next may begin."""

    def __init__(self, access: ViewerAccess) -> None:
        self._access = access
        self._news = asyncio.Event()
        self._lease_changed = asyncio.Event()
        self._begun = 0.0

    def wake(self) -> None:
        """Note that something may be new."""
        self._news.set()

    def note_lease(self) -> None:
        """Note that the lease has changed: less time may have to pass from now on."""
        self._lease_changed.set()
        self.wake()

    async def next(self, due: float | None) -> float:
        """Wait for news, or until `due` if there is none; the time then, by the monotonic clock."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(0.0, due - time.monotonic())):
                await self._news.wait()
        await self._pause()
        now = time.monotonic()
        self._news.clear()
        return now

    def begin(self, now: float) -> None:
        """Note that a frame begins now: the next one has to wait."""
        self._begun = now

    async def _pause(self) -> None:
        """Let the least time pass since a frame began; less of it from the moment that this viewer drives."""
        while (left := self._begun + self._least - time.monotonic()) > 0:
            self._lease_changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._lease_changed.wait()

    @property
    def _least(self) -> float:
        return WATCH_SECONDS if self._access.only_watches else FRAME_SECONDS
