"""Drains the rest of a request's body when the answer is ready before the body was read."""

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BYTES = 256 * 1024 * 1024
MAX_SECONDS = 10.0
"""Limits in seconds and bytes for reading a body that is not needed any more."""


class Drain:
    """Reads the rest of the body before the answer begins, within limits.

    A refused upload is answered while its client still sends. If the body is not read, the gateway closes the
    connection in spite of its `keep-alive`, and the client's next request on it fails.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.ended:
                await body.drain()
            await send(message)

        await self._app(scope, body.receive, answer)


class _Body:
    """A request's body, and whether all of it has arrived."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ended = False

    async def receive(self) -> Message:
        """Return the next piece."""
        message = await self._receive()
        self.ended |= message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Read and drop the rest."""
        taken, deadline = 0, time.monotonic() + MAX_SECONDS
        while not self.ended and taken < MAX_BYTES and time.monotonic() < deadline:
            try:
                async with asyncio.timeout(MAX_SECONDS):
                    taken += len((await self.receive()).get("body", b""))
            except TimeoutError:
                return
