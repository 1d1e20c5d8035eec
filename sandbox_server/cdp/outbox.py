"""What waits to be sent to one client."""

import asyncio
from collections import deque

BACKLOG_BYTES = 32 << 20
"""What may wait for one client. A message may be larger than this by itself, if little waits before it."""
SHARED_BYTES = 96 << 20
"""What may wait for all programs together, beside what is for processes of the sandbox's own and for people."""


class SharedBacklog:
    """What waits for several clients together."""

    def __init__(self, limit: int = SHARED_BYTES) -> None:
        self._limit = limit
        self.waiting = 0
        """Bytes."""

    @property
    def exceeded(self) -> bool:
        """Whether too much waits."""
        return self.waiting > self._limit


class Outbox:
    """Messages for one client, bounded, so that a slow one costs nobody else anything; `share` is what it has with others."""

    def __init__(self, limit: int = BACKLOG_BYTES, share: SharedBacklog | None = None) -> None:
        self._limit = limit
        self._share = share or SharedBacklog()
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._closed: str | None = None
        self._overflow = asyncio.Event()

    @property
    def overflowed(self) -> bool:
        """Whether it was closed because the client fell too far behind."""
        return self._overflow.is_set()

    async def overflow(self) -> None:
        """Wait until the client has fallen too far behind."""
        await self._overflow.wait()

    @property
    def closed(self) -> str | None:
        """Why nothing more is sent; None while it is open."""
        return self._closed

    def put(self, message: bytes) -> None:
        """Queue a message; over the bound the outbox closes and drops what it holds."""
        if self._closed is not None:
            return
        if self._bytes > self._limit or (self._bytes and self._share.exceeded):
            self.close(f"the client is too slow: {self._bytes} bytes wait for it")
            self.drop()
            self._overflow.set()
            return
        self._waiting.append(message)
        self._count(len(message))
        self._news.set()

    def drop(self) -> None:
        """Hand out nothing more of what waits."""
        self._waiting.clear()
        self._count(-self._bytes)

    def close(self, reason: str) -> None:
        """Take no more messages; what waits is still handed out."""
        self._closed = self._closed or reason
        self._news.set()

    async def get(self) -> bytes | None:
        """The next message; None once the outbox is closed and empty."""
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
