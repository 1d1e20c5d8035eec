"""Bounded send queues, one for each DevTools client."""

import asyncio
from collections import deque

BACKLOG_BYTES = 32 << 20
"""Limit of bytes that wait for one client. A larger message is accepted while little else waits."""
SHARED_BYTES = 96 << 20
"""Limit of bytes that wait for all programs together. The sandbox's own processes and people do not count."""


class SharedBacklog:
    """The bytes that wait for several clients together."""

    def __init__(self, limit: int = SHARED_BYTES) -> None:
        self._limit = limit
        self.waiting = 0
        """Bytes that wait."""

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded."""
        return self.waiting > self._limit


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
            self.close(f"the client is too slow: {self._bytes} bytes wait for it")
            self.drop()
            self._overflow.set()
            return
        self._waiting.append(message)
        self._count(len(message))
        self._news.set()

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
