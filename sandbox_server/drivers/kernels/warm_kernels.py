"""A pool of warm kernels: each is started before anybody asks, taken once, and replaced behind whoever took it."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from sandbox_server.core.errors import Failure
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.kernels.kernel import Kernel, KernelEnded

AT_MOST = 2
"""Kernels in the pool once one was taken; until then one waits, so that a sandbox that runs no code pays for no more."""
REFILL_PAUSE = 0.02
"""Seconds before a taken kernel is replaced where another is ready, so that the code that it was taken for has the processors first."""

_log = logging.getLogger(__name__)


class WarmKernels:
    """Keeps kernels that `start` starts. Nothing is shared between two executions: a kernel never comes back."""

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
        """Give the kernel that was started first and still runs; None where there is none.

        Waits for one that is still starting. One that has ended meanwhile, as all do when the box ends, is passed over.
        """
        try:
            while self._pool:
                if kernel := await self._first():
                    return kernel
            return None
        finally:
            self._refill(AT_MOST)

    async def close(self) -> None:
        """End those that nobody has taken."""
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
