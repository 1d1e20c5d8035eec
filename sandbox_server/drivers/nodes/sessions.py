"""All Node.js sessions: a limited number, found by id, closed when idle."""

import asyncio
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self
from uuid import uuid4

from sandbox_server.core.errors import Conflict, InvalidArgument, NotFound
from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.fence.policy import IsolationPolicy
from sandbox_server.drivers.nodes.nodes import Nodes
from sandbox_server.drivers.nodes.session import NodeSession
from sandbox_server.drivers.session_table import SessionLimit, SessionTable, require_valid_id
from sandbox_server.drivers.spawn.process import Processes

MAX_IDLE = 86400
"""Default of the idle seconds after which a session is closed."""


class NodeSessions:
    """The sessions; an asynchronous context manager, which ends them all.

    `check` is the interval for idle sessions in seconds.
    """

    def __init__(
        self,
        processes: Processes,
        nodes: Nodes,
        *,
        workspace: str,
        limit: int,
        memory: int,
        check: float = 5.0,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        self.nodes = nodes
        self._processes = processes
        self._workspace = workspace
        self._memory = memory
        self._limits = limits
        self._check = check
        self._table = SessionTable(SessionLimit[NodeSession](limit, f"all {limit} Node.js sessions are in use", "delete one"))
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._expire(), name="closing idle Node.js sessions")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()
        await asyncio.gather(*(self.remove(session) for session in self))

    def __iter__(self) -> Iterator[NodeSession]:
        return iter(self._table)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._table

    @property
    def busy(self) -> bool:
        """Whether code runs in any of them."""
        return any(session.busy for session in self)

    async def get(self, session_id: str, version: str | None = None) -> NodeSession:
        """Return the session of an id and, if given, a version. Raises NotFound."""
        session = self._table.find(session_id)
        if session is None or (version and await self.nodes.get(version) != session.node):
            raise NotFound("Session not found", session_id=session_id)
        return session

    async def create(
        self,
        session_id: str | None,
        version: str | None,
        directory: str | None,
        max_idle: int = MAX_IDLE,
        isolation: IsolationPolicy | None = None,
    ) -> tuple[NodeSession, bool]:
        """Open a session. Return it, and whether it is new.

        Raises Conflict if it has another version or isolation or if the isolation cannot be enforced, and
        ResourceExhausted.
        """
        session_id = session_id or str(uuid4())
        require_valid_id(session_id)
        node = await self.nodes.get(version)
        if existing := self._table.find(session_id):
            if version and existing.node != node:
                raise Conflict(f"session {session_id!r} runs {existing.node.name}", hint="use another session")
            if isolation not in (None, existing.isolation):
                raise Conflict(f"session {session_id!r} has another isolation", hint="use another session")
            return existing, False
        place = directory or self._workspace
        made = NodeSession(session_id, node, self._processes, directory=place, max_idle=max_idle, isolation=isolation, limits=self._limits)
        return await self._open(made), True

    async def remove(self, session: NodeSession) -> None:
        """Close a session."""
        self._table.remove(session)
        await session.close()

    async def _open(self, session: NodeSession) -> NodeSession:
        if not session.directory.startswith("/"):
            raise InvalidArgument(f"cwd {session.directory!r} is not an absolute path", field="cwd")
        self._table.add(session)
        try:
            await session.open(self._memory)
        except BaseException:
            await self.remove(session)
            raise
        return session

    async def _expire(self) -> None:
        while True:
            await asyncio.sleep(self._check)
            for session in self:
                if not session.busy and session.idle_seconds >= session.max_idle:
                    await self.remove(session)
