"""Starts processes in the agent's default Python, as forks of one zygote."""

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandbox_server.drivers.spawn.child_setup import SESSION
from sandbox_server.drivers.spawn.process import NoZygote, Process, Processes, put_down

SCRIPT = str(Path(__file__).with_name("zygote_program.py"))
NAME = "kernels"
NAME_ROOM = 160
"""Bytes that are reserved in a kernel's environment for its session's name."""
OOM_SCORE = 200
"""The oom_score_adj of zygote and relay: below that of other agent processes, because they serve every session."""
TRIES = 2
REST_SECONDS = 60.0
"""Seconds without the zygote after a failed fork: the agent's Python may be broken."""

_log = logging.getLogger(__name__)


class KernelZygote:
    """Starts a zygote on demand; an asynchronous context manager, which ends it.

    `program` is the Python and `packages` the directory of the kernel's packages, both in the agent's tree. `memory` is
    the limit in bytes for each forked process.
    """

    def __init__(self, processes: Processes, *, program: str, packages: str, memory: int) -> None:
        self.program = program
        self.packages = packages
        self._processes = processes
        self._argv = [program, SCRIPT, packages]
        self._limits = {"data": memory}
        self._zygote: Process | None = None
        self._starting = asyncio.Lock()
        self._rests_until = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._zygote:
            await put_down(self._zygote)

    async def start(self, role: Sequence[str], instead: Sequence[str], *, forked: bool = True, **options: Any) -> Process:
        """Start a process in one of the zygote's roles, or the program `instead` if forking is not possible or not wanted.

        `options` are those of `Processes.start`, and so are the exceptions.
        """
        if not forked:
            return await self._processes.start(instead, **options)
        for _ in range(TRIES):
            if time.monotonic() < self._rests_until:
                break
            try:
                zygote = await self._running()
            except NoZygote as refused:
                _log.warning("every kernel starts by itself: %s", refused.message)
                self._rests_until = math.inf
                break
            with suppress(NoZygote):
                return await self._processes.start(role, forked_from=NAME, **options)
            await self._end(zygote)
        else:
            _log.warning("the kernels' zygote forks nothing: kernels start by themselves for %g s", REST_SECONDS)
            self._rests_until = time.monotonic() + REST_SECONDS
        return await self._processes.start(instead, **options)

    async def _running(self) -> Process:
        async with self._starting:
            if self._zygote is None or self._zygote.exit:
                env = {SESSION: "jupyter:".ljust(NAME_ROOM, " ")}
                self._zygote = await self._processes.start(
                    self._argv, cwd="/", env=env, zygote=NAME, oom_score=OOM_SCORE, limits=self._limits
                )
            return self._zygote

    async def _end(self, zygote: Process) -> None:
        """End a zygote that did not fork: its imports are outdated, or it is broken."""
        async with self._starting:
            if self._zygote is zygote:
                self._zygote = None
                await put_down(zygote)
