"""All kernel sessions: a limited number, found by id, closed when idle."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self
from uuid import uuid4

from sandbox_server.core.errors import Conflict
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.kernels.execution import Execution
from sandbox_server.drivers.kernels.kernel import OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.session import JupyterSession
from sandbox_server.drivers.session_table import SessionLimit, SessionTable, require_valid_id

CHECKS = 20
"""How often the idle sessions are checked during the idle timeout."""


class KernelSessions:
    """The sessions; an asynchronous context manager, which ends them all. `idle_timeout` is in seconds."""

    def __init__(self, kernels: Kernels, *, limit: int, idle_timeout: float) -> None:
        self.kernels = kernels
        self.limit = limit
        self.idle_timeout = idle_timeout
        message, hint = f"all {limit} kernels are in use", "delete a session, or reuse one by its session_id"
        self._table = SessionTable(SessionLimit[JupyterSession](limit, message, hint, _idle_longest))
        self._unnamed: set[JupyterSession] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._expire(), name="closing idle kernels")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.clear()
        await asyncio.gather(*self._closing, *(session.close() for session in self._unnamed))
        await self._tasks.close()

    def __iter__(self) -> Iterator[JupyterSession]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def busy(self) -> bool:
        """Whether code runs in any of them."""
        return any(session.busy for session in [*self._table, *self._unnamed])

    def get(self, session_id: str) -> JupyterSession:
        """Return the session of an id; raises NotFound with the contract's message."""
        return self._table.get(session_id)

    async def begin(
        self,
        session_id: str | None,
        kernel_name: str | None,
        code: str,
        *,
        timeout: float,
        bounds: OutputBounds,
        directory: str | None = None,
        isolation: IsolationPolicy | None = None,
    ) -> tuple[JupyterSession, Execution]:
        """Start to run code in the session of an id, or in an implicit one.

        Raises as `named` and `JupyterSession.begin`. A session that was made for the code is removed then.
        """
        known = set(self._table.by_id)
        session = await (self.named(session_id, kernel_name, isolation) if session_id else self.implicit(kernel_name, isolation))
        try:
            return session, await session.begin(code, timeout=timeout, bounds=bounds, directory=directory)
        except BaseException:
            if session.id not in known:
                await self.remove(session)
            raise

    async def named(self, session_id: str, kernel_name: str | None, isolation: IsolationPolicy | None = None) -> JupyterSession:
        """Return the session of an id, or a new one. Raises Conflict if it has another kernel or isolation."""
        require_valid_id(session_id)
        if session_id not in self._table:
            name = await self._kernel_name(kernel_name)
            await self._add(JupyterSession(session_id, name, self.kernels, self._tasks, isolation=isolation))
        session = self._table.get(session_id)
        pythons = self.kernels.pythons
        if kernel_name and await pythons.get(kernel_name) != await pythons.get(session.kernel_name):
            raise Conflict(f"session {session_id!r} has the kernel {session.kernel_name!r}", hint="use another session")
        if isolation not in (None, session.isolation):
            raise Conflict(f"session {session_id!r} has another isolation", hint="use another session")
        return session

    async def implicit(self, kernel_name: str | None, isolation: IsolationPolicy | None = None) -> JupyterSession:
        """Return the session for callers that name none: an idle one of that kernel and isolation, or a new one."""
        name = await self._kernel_name(kernel_name)
        asked = (name, isolation)
        idle = [one for one in self if one.implicit and not one.busy and (one.kernel_name, one.isolation) == asked]
        if idle:
            return max(idle, key=lambda session: session.last_use.at)
        session = JupyterSession(str(uuid4()), name, self.kernels, self._tasks, implicit=True, isolation=isolation)
        await self._add(session)
        return session

    async def create(
        self, session_id: str | None, kernel_name: str | None, directory: str | None, isolation: IsolationPolicy | None = None
    ) -> JupyterSession:
        """Make a session with a kernel, or return the one of that id."""
        known = set(self._table.by_id)
        session = await self.named(session_id or str(uuid4()), kernel_name, isolation)
        try:
            await session.open(directory)
        except BaseException:
            if session.id not in known:
                await self.remove(session)
            raise
        return session

    @asynccontextmanager
    async def once(self, kernel_name: str | None, isolation: IsolationPolicy | None = None) -> AsyncIterator[JupyterSession]:
        """A session for one execution, which is not listed and ends with the context. Raises ResourceExhausted."""
        if len(self._unnamed) >= self.limit:
            raise self._table.limits[0].exhausted()
        name = await self._kernel_name(kernel_name)
        session = JupyterSession(str(uuid4()), name, self.kernels, self._tasks, once=True, isolation=isolation)
        self._unnamed.add(session)
        try:
            yield session
        finally:
            self._unnamed.discard(session)
            closing = self._tasks.start(session.close(), name="ending a kernel")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def remove(self, session: JupyterSession) -> None:
        """Close a session."""
        self._table.remove(session)
        await session.close()

    async def clear(self) -> None:
        """Close all of them."""
        await asyncio.gather(*(self.remove(session) for session in self))

    async def _kernel_name(self, name: str | None) -> str:
        name = name or self.kernels.default
        await self.kernels.pythons.get(name)
        return name

    async def _add(self, session: JupyterSession) -> None:
        while evicted := self._table.evicted_for(session):
            await self.remove(evicted)
        self._table.add(session)

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(self.idle_timeout / CHECKS)
            for session in self:
                if session.idle_seconds >= self.idle_timeout:
                    await self.remove(session)


def _idle_longest(sessions: Sequence[JupyterSession]) -> JupyterSession | None:
    idle = [session for session in sessions if session.implicit and not session.busy]
    return min(idle, key=lambda session: session.last_use.at, default=None)
