"""The agent's files. This process never opens a path of the agent: workers do, with the agent's rights.

Each user has a few workers, and each worker serves one operation at a time. A worker that exceeds its deadline is
killed and replaced.
"""

import asyncio
import socket
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from sandbox_server.core.errors import ResourceExhausted
from sandbox_server.drivers.files.message_frames import WorkerFrame
from sandbox_server.drivers.files.operations import FileAccess, User
from sandbox_server.drivers.files.worker_channel import FileWorkerChannel, NotSent
from sandbox_server.timeouts import scaled

MAX_WORKERS = 8
"""Limit of concurrent operations per user. Further ones wait."""
MAX_IDLE = 2
"""Idle workers that are kept per user."""
MAX_THREADS = 16
"""Threads that move the bytes of uploads and downloads."""
BUSY_SECONDS = scaled(10.0)
"""Seconds that an operation waits for a worker before it fails as busy."""


class FileWorkers(Protocol):
    """Starts workers; `Processes` implements it."""

    async def worker(self, user: User) -> socket.socket: ...


@dataclass(slots=True)
class _Pool:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_WORKERS))
    idle: list[FileWorkerChannel] = field(default_factory=list)


class Files:
    """Operations on the agent's files, through workers that are started on demand."""

    def __init__(self, workers: FileWorkers, *, home: str) -> None:
        self.home = home
        """The directory that `~` stands for."""
        self.threads: Executor = ThreadPoolExecutor(MAX_THREADS, "files")
        self._workers = workers
        self._pools: dict[User, _Pool] = {"agent": _Pool(), "root": _Pool()}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for pool in self._pools.values():
            for channel in pool.idle:
                channel.close()
            pool.idle.clear()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def access(self, operation: str, *, sudo: bool = False, timeout: float = 30.0) -> FileAccess:
        """Return the file operations as the agent, or with `sudo` as root, each within `timeout` seconds.

        `operation` is its name in error messages.
        """
        return FileAccess(self, operation, "root" if sudo else "agent", timeout)

    async def call(self, user: User, request: WorkerFrame, timeout: float) -> WorkerFrame:
        """Send one request to a worker and return its answer.

        Raises TimeoutError after `timeout` seconds, ConnectionError if the worker died, PermissionDenied if `user` is
        not allowed, ResourceExhausted while every worker is busy, Unavailable if none can be started.
        """
        pool = self._pools[user]
        try:
            async with asyncio.timeout(BUSY_SECONDS):
                await pool.free.acquire()
        except TimeoutError:
            raise ResourceExhausted(f"all {MAX_WORKERS} file workers are busy", retry_after=1) from None
        try:
            async with asyncio.timeout(timeout):
                return await self._ask(pool, user, request)
        finally:
            pool.free.release()

    async def _ask(self, pool: _Pool, user: User, request: WorkerFrame) -> WorkerFrame:
        while pool.idle:
            try:
                return await self._exchange(pool, pool.idle.pop(), request)
            except NotSent:  # it died while it was idle
                continue
        return await self._exchange(pool, FileWorkerChannel(await self._workers.worker(user)), request)

    async def _exchange(self, pool: _Pool, channel: FileWorkerChannel, request: WorkerFrame) -> WorkerFrame:
        try:
            await channel.send(request)
            answer = await channel.receive()
        except BaseException:
            channel.close()
            raise
        if len(pool.idle) < MAX_IDLE:
            pool.idle.append(channel)
        else:
            channel.close()
        return answer
