"""Whose a connection is: its program and its session, looked up by the inode of its socket, rarely and in bounded time."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from sandbox_server.core import Failure, Tasks
from sandbox_server.features.egress.connections import Connection, ConnectionProcess

SHARE = 0.1
"""The part of the time that lookups may take in the long run: each looks at the processes of the box."""
BURST_SECONDS = 0.5
"""How long lookups may take at once after a quiet time."""
MAX_PENDING = 256
"""Connections that may wait for a lookup. Others stay unknown."""
MAX_KNOWN = 1024
"""Sockets whose programs are remembered: of connections that have been accepted, before anything is decided on them."""
MAX_ASKED = 64
"""Inodes of one lookup."""
MAX_COMMAND = 200
MAX_SESSION = 200

type SocketLookup = Callable[[Sequence[int]], Awaitable[Mapping[str, Mapping[str, Any]]]]
"""Returns the processes that have sockets, by inode as text: `pid`, `command`, `session`. Raises Failure."""


class ConnectionAttribution:
    """Looks up the programs of connections; an asynchronous context manager. `found` is called with each that it knows now."""

    def __init__(self, lookup: SocketLookup, found: Callable[[Connection], None] = lambda _: None, desktop_uid: int | None = None) -> None:
        """Connections of the user `desktop_uid` are not looked up before they are wanted."""
        self._lookup = lookup
        self._found = found
        self._desktop_uid = desktop_uid
        self._known: OrderedDict[int, Mapping[str, Any]] = OrderedDict()
        """Owners of sockets that were found, the oldest first."""
        self._pending: dict[int, list[Connection]] = {}
        self._wanted = asyncio.Event()
        self._looked = asyncio.Event()
        self._tasks = Tasks()
        self._left, self._since = BURST_SECONDS, time.monotonic()

    async def __aenter__(self) -> Self:
        self._tasks.start(self._work(), name="programs of connections")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event: the socket of a connection that was just accepted is looked up while its program is still there."""
        if event.get("event") == "accepted" and event["uid"] != self._desktop_uid:
            self._ask_of(event["inode"])

    def want(self, connection: Connection) -> None:
        """Look up a connection soon, if that is possible."""
        if connection.process or connection.session or not connection.inode:
            return
        if known := self._known.get(connection.inode):
            self._note(connection, known)
        elif self._ask_of(connection.inode):
            self._pending[connection.inode].append(connection)

    def _ask_of(self, inode: int) -> bool:
        """Look up a socket soon; False if too many wait."""
        if inode not in self._pending and len(self._pending) >= MAX_PENDING:
            return False
        self._pending.setdefault(inode, [])
        self._wanted.set()
        return True

    async def settled(self, connection: Connection, seconds: float) -> None:
        """Wait until a connection was looked up, for a bounded time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while connection.inode in self._pending and connection.process is None:
                    self._looked.clear()
                    await self._looked.wait()

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            began = time.monotonic()
            await self._look()
            await asyncio.sleep(self._pause(began, time.monotonic()))

    def _pause(self, began: float, ended: float) -> float:
        """Take the time of a lookup from what lookups may take, and return how long the next one has to wait."""
        self._left = min(BURST_SECONDS, self._left + SHARE * (began - self._since)) - (ended - began)
        self._since = began
        return max(0.0, -self._left / SHARE)

    async def _look(self) -> None:
        """Look up what waits, the latest first: the programs of others may have ended."""
        asked = list(reversed(self._pending))[:MAX_ASKED]
        found: Mapping[str, Mapping[str, Any]] = {}
        with suppress(Failure):
            found = await self._lookup(asked)
        for inode in asked:
            waiting, known = self._pending.pop(inode, []), found.get(str(inode))
            if known:
                self._remember(inode, known)
                for connection in waiting:
                    self._note(connection, known)
        if self._pending:
            self._wanted.set()
        self._looked.set()

    def _remember(self, inode: int, known: Mapping[str, Any]) -> None:
        self._known[inode] = known
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def _note(self, connection: Connection, known: Mapping[str, Any]) -> None:
        connection.process = ConnectionProcess(pid=int(known["pid"]), command=_printable(str(known["command"]), MAX_COMMAND))
        session = _printable(str(known["session"] or ""), MAX_SESSION).strip()
        connection.session = session or None
        self._found(connection)


def _printable(text: str, limit: int) -> str:
    """Return text of the agent's without control characters."""
    return "".join(character if character.isprintable() else " " for character in text[:limit])
