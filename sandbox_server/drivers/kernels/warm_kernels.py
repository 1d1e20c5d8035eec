"""A pool of warm kernels: each is started in advance, taken once, and then replaced."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded

AT_MOST = 2
"""Kernels in the pool after the first was taken. Until then only one waits, so that a sandbox that runs no code uses less memory."""
REFILL_PAUSE = 0.02
"""Seconds before a taken kernel is replaced while another is ready, so that the new code gets the processors first."""

_log = logging.getLogger(__name__)


class WarmKernels:
    """Keeps kernels that `start` starts. A kernel is never reused, so executions share nothing."""

    def __init__(self, start: Callable[[], Awaitable[Kernel]], tasks: Tasks) -> None:
        self._start = start
        self._tasks = tasks
        self._pool: deque[asyncio.Task[Kernel]] = deque()

    @property
    def ready(self) -> int:
        """How many can be taken at once."""
        return sum(1 for starting in self._pool if _has_started(starting))

    def begin(self) -> None:
        """Start the first, unless there is one."""
        if not self._pool:
            self._refill(1)

    async def take(self) -> Kernel | None:
        """Return the oldest kernel that still runs; None if there is none.

        Waits for one that is starting. Kernels that have ended, as all do with the box, are skipped.
        """
        try:
            while self._pool:
                if kernel := await self._first():
                    return kernel
            return None
        finally:
            self._refill(AT_MOST)

    async def close(self) -> None:
        """End the kernels that were not taken."""
        for starting in self._pool:
            if _has_started(starting):
                await starting.result().close()

    async def _first(self) -> Kernel | None:
        starting = self._pool.popleft()
        try:
            kernel = await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._pool.appendleft(starting)
            raise
        except (Failure, KernelEnded):
            _log.warning("a warm kernel could not be started", exc_info=True)
            return None
        return kernel if kernel.exit is None else None

    def _refill(self, target: int) -> None:
        while len(self._pool) < target:
            self._pool.append(self._tasks.start(self._begin(), name="starting a warm kernel"))

    async def _begin(self) -> Kernel:
        if self.ready:
            await asyncio.sleep(REFILL_PAUSE)
        return await self._start()


def _has_started(starting: asyncio.Task[Kernel]) -> bool:
    return starting.done() and not starting.cancelled() and starting.exception() is None
