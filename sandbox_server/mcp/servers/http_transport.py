"""How servers are reached that speak HTTP: what they answer is bounded before the SDK's client reads it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import httpx2

from sandbox_server.mcp.message_limits import MessageLimitError, MessageSize

SENT_HEADERS = {"Accept-Encoding": "identity"}
"""Compressed, a small answer may stand for any amount of text."""
LISTEN_PAUSE = 1.0
"""Seconds between two requests that listen: a server that hangs up at once, and asks for no pause, would be asked without end."""
_EVENT_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


class HttpMessageLimits:
    """What holds for one client's requests: no answer is compressed, none holds a message that is more than `Measure` allows."""

    def __init__(self) -> None:
        self._listens_at = 0.0

    @property
    def hooks(self) -> dict[str, list[Callable[..., Any]]]:
        """For the client's `event_hooks`."""
        return {"request": [self._pace], "response": [self._bound]}

    async def _pace(self, request: httpx2.Request) -> None:
        """Have a request that listens wait for its turn."""
        if request.method == "GET":
            self._listens_at = max(time.monotonic(), self._listens_at + LISTEN_PAUSE)
            await asyncio.sleep(self._listens_at - time.monotonic())

    async def _bound(self, response: httpx2.Response) -> None:
        """Raise RemoteProtocolError for an answer in a form that nobody asked for; else bound it."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.RemoteProtocolError("the server compresses its answers, which it was asked not to")
        bounded = _BoundedEvents if response.headers.get("content-type", "").lower().startswith("text/event-stream") else _BoundedBody
        response.stream = bounded(cast("httpx2.AsyncByteStream", response.stream))


class _BoundedBody(httpx2.AsyncByteStream):
    """An answer that is one message."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        measure = MessageSize()
        async for piece in self._inner:
            measure = self._measured(measure, piece)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _measured(self, measure: MessageSize, piece: bytes) -> MessageSize:
        """The measure of the message that the piece's end is a part of."""
        _take(measure, piece)
        return measure


class _BoundedEvents(_BoundedBody):
    """An answer that is a stream of messages, each ended by an empty line."""

    def _measured(self, measure: MessageSize, piece: bytes) -> MessageSize:
        ended = max(piece.rfind(end) for end in _EVENT_ENDS)
        if ended < 0:
            return super()._measured(measure, piece)
        _take(measure, piece[:ended])
        return super()._measured(MessageSize(), piece[ended:])


def _take(measure: MessageSize, piece: bytes) -> None:
    """As an error of a stream, which the SDK tells whoever waits for the answer."""
    try:
        measure.take(piece)
    except MessageLimitError as error:
        raise httpx2.StreamError(str(error)) from None
