"""Limits for upstream servers over Streamable HTTP, enforced before the SDK's client reads a response."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import httpx2

from sandbox_server.mcp.message_limits import MessageLimitError, MessageSize

SENT_HEADERS = {"Accept-Encoding": "identity"}
"""A small compressed response could expand to any size."""
LISTEN_PAUSE = 1.0
"""Seconds between two GET requests for events, so that a server that closes at once is not polled in a tight loop."""
_EVENT_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


class HttpMessageLimits:
    """Limits for one connection: no compressed response, and no message over the limits of `MessageSize`."""

    def __init__(self) -> None:
        self._listens_at = 0.0

    @property
    def hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """The HTTP client's `event_hooks`."""
        return {"request": [self._pace], "response": [self._bound]}

    async def _pace(self, request: httpx2.Request) -> None:
        """Delay a GET request until its turn."""
        if request.method == "GET":
            self._listens_at = max(time.monotonic(), self._listens_at + LISTEN_PAUSE)
            await asyncio.sleep(self._listens_at - time.monotonic())

    async def _bound(self, response: httpx2.Response) -> None:
        """Limit a response. Raises RemoteProtocolError for a compressed one."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.RemoteProtocolError("the server compresses its responses although the request forbids it")
        bounded = _BoundedEvents if response.headers.get("content-type", "").lower().startswith("text/event-stream") else _BoundedBody
        response.stream = bounded(cast("httpx2.AsyncByteStream", response.stream))


class _BoundedBody(httpx2.AsyncByteStream):
    """A response that is one message."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = MessageSize()
        async for chunk in self._inner:
            size = self._size_after(size, chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _size_after(self, size: MessageSize, chunk: bytes) -> MessageSize:
        """The size of the message that the chunk ends in."""
        _take(size, chunk)
        return size


class _BoundedEvents(_BoundedBody):
    """A response of server-sent events, each ended by an empty line."""

    def _size_after(self, size: MessageSize, chunk: bytes) -> MessageSize:
        ended = max(chunk.rfind(end) for end in _EVENT_ENDS)
        if ended < 0:
            return super()._size_after(size, chunk)
        _take(size, chunk[:ended])
        return super()._size_after(MessageSize(), chunk[ended:])


def _take(size: MessageSize, chunk: bytes) -> None:
    """Count a chunk. Raises StreamError, which the SDK passes to whoever waits for the response."""
    try:
        size.take(chunk)
    except MessageLimitError as error:
        raise httpx2.StreamError(str(error)) from None
