"""What waits to be sent to one client."""

import asyncio
from collections import deque

BACKLOG_BYTES = 64 << 20
"""What may wait for one client. A message may be larger than this by itself, if little waits before it."""


class Outbox:
    """Messages for one client, bounded, so that a slow one costs nobody else anything."""

    def __init__(self, limit: int = BACKLOG_BYTES) -> None:
        self._limit = limit
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
        if self._bytes > self._limit:
            self.close(f"the client is too slow: {self._bytes} bytes wait for it")
            self._waiting.clear()
            self._overflow.set()
            return
        self._waiting.append(message)
        self._bytes += len(message)
        self._news.set()

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
        self._bytes -= len(message)
        return message
