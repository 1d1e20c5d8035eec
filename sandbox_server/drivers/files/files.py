"""The agent's files. This process never opens a path of the agent: workers do, with the agent's rights.

A few workers per user serve one operation each at a time. One that exceeds its deadline is ended, and another takes its place.
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

MAX_WORKERS = 8
"""Operations of one user that run at once; more of them wait."""
MAX_IDLE = 2
"""Workers of one user that are kept while there is nothing to do."""
MAX_THREADS = 16
"""Threads that move the bytes of uploads and downloads."""
BUSY_SECONDS = 10.0
"""How long an operation waits for a worker before it is told that all are busy."""


class FileWorkers(Protocol):
    """Where workers come from; `Processes` is one."""

    async def worker(self, user: User) -> socket.socket: ...


@dataclass(slots=True)
class _Pool:
    free: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_WORKERS))
    idle: list[FileWorkerChannel] = field(default_factory=list)


class Files:
    """Operations on the agent's files, through workers that are started when they are needed."""

    def __init__(self, workers: FileWorkers, *, home: str) -> None:
        self.home = home
        """What `~` stands for."""
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
        """Give the operations on files, as the agent or with `sudo` as root, each within `timeout` seconds.

        `operation` is the word by which errors call what is done.
        """
        return FileAccess(self, operation, "root" if sudo else "agent", timeout)

    async def call(self, user: User, request: WorkerFrame, timeout: float) -> WorkerFrame:
        """Have a worker do one thing.

        Raises TimeoutError after `timeout` seconds, ConnectionError when the worker died at it, PermissionDenied where `user` is not
        allowed, ResourceExhausted while every worker is busy, Unavailable when none can be started.
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
