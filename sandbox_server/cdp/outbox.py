"""Bounded send queues, one for each DevTools client."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

BACKLOG_BYTES = 32 << 20
"""Limit of bytes that wait for one client. A larger message is accepted while little else waits."""
SHARED_BYTES = 96 << 20
"""Limit of bytes that wait for all programs together, or are on the way to or from them. The sandbox's own processes and people do not
count. Beyond it there is one message at most, and a little of each client."""
LITTLE_BYTES = 1 << 20
"""Who holds less is ended for nobody."""


class HeldConnection(Protocol):
    """The connection of a client, with what it holds in memory."""

    lost: bool
    grown: Callable[[], None]

    @property
    def held(self) -> int:
        """Bytes on the way, in either direction."""
        ...

    def abort(self) -> None:
        """End it now, and drop what it holds."""
        ...


class SharedBacklog:
    """The bytes that wait for several clients together, or are on the way."""

    def __init__(self, limit: int = SHARED_BYTES) -> None:
        self._limit = limit
        self._connections: dict[HeldConnection, tuple[str, Outbox]] = {}
        """The caller and the queue of each connection. One whose client was told to go stays as long as it holds anything."""
        self.waiting = 0
        """Bytes that wait."""

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded."""
        return self.waiting + sum(each.held for each in self._connections) > self._limit

    def connect(self, connection: HeldConnection, caller: str, outbox: "Outbox") -> None:
        """Count what the connection of a client holds, until it is lost."""
        self._connections = {each: its for each, its in self._connections.items() if not each.lost}
        self._connections[connection] = caller, outbox
        connection.grown = self.make_room

    def make_room(self) -> None:
        """While the limit is exceeded, end the largest client of the caller whose clients hold most; the last large one goes on."""
        while self.exceeded:
            sizes = {each: each.held + outbox.waiting for each, (_, outbox) in self._connections.items()}
            large = [each for each, size in sizes.items() if size >= LITTLE_BYTES]
            if len(large) < 2:
                return
            callers = Counter[str]()
            for each, (caller, _) in self._connections.items():
                callers[caller] += sizes[each]
            ended = max(large, key=lambda each: (callers[self._connections[each][0]], sizes[each]))
            _, outbox = self._connections.pop(ended)
            outbox.overflow_with(f"the clients of programs are too slow: {sizes[ended]} bytes wait for this one")
            ended.abort()


class Outbox:
    """The bounded send queue of one client. `share` is the backlog that it shares with other clients."""

    def __init__(self, limit: int = BACKLOG_BYTES, share: SharedBacklog | None = None) -> None:
        self._limit = limit
        self._share = share or SharedBacklog()
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._closed: str | None = None
        self._overflow = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Bytes that wait."""
        return self._bytes

    def connect(self, connection: HeldConnection, caller: str) -> None:
        """Count what the client's connection holds, too."""
        self._share.connect(connection, caller, self)

    @property
    def overflowed(self) -> bool:
        """Whether the queue was closed because the client fell too far behind."""
        return self._overflow.is_set()

    async def overflow(self) -> None:
        """Wait until the client has fallen too far behind."""
        await self._overflow.wait()

    @property
    def closed(self) -> str | None:
        """The reason for the end; None while the queue is open."""
        return self._closed

    def put(self, message: bytes) -> None:
        """Queue a message. Over the limit, the queue closes and drops its content."""
        if self._closed is not None:
            return
        if self._bytes > self._limit or (self._bytes and self._share.exceeded):
            self.overflow_with(f"the client is too slow: {self._bytes} bytes wait for it")
            return
        self._waiting.append(message)
        self._count(len(message))
        self._news.set()
        self._share.make_room()

    def overflow_with(self, reason: str) -> None:
        """Close the queue of a client that has fallen too far behind, and drop what waits."""
        self.close(reason)
        self.drop()
        self._overflow.set()

    def drop(self) -> None:
        """Drop everything that waits."""
        self._waiting.clear()
        self._count(-self._bytes)

    def close(self, reason: str) -> None:
        """Accept no more messages. What waits is still sent."""
        self._closed = self._closed or reason
        self._news.set()

    async def get(self) -> bytes | None:
        """Return the next message; None once the queue is closed and empty."""
        while not self._waiting:
            if self._closed is not None:
                return None
            self._news.clear()
            await self._news.wait()
        message = self._waiting.popleft()
        self._count(-len(message))
        return message

    def _count(self, more: int) -> None:
        self._bytes += more
        self._share.waiting += more
