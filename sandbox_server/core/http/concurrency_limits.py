"""Limits on concurrent requests, with a share kept for people."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox_server.core.quota import Quota, Reservation

BODY_WAIT_SECONDS = 10.0
"""Seconds that a body waits for memory that other bodies use."""
COPIES = 2
"""Memory per byte of a body while it is decoded: its bytes, and the values in them."""


class Limits:
    """The quotas that the callers of an application share."""

    def __init__(self) -> None:
        self.calls = Quota("concurrent calls", 1024, programs=896, each=768)
        self.open = Quota("open sockets, event streams and downloads", 512, programs=384, each=256)
        self.body_bytes = Quota("bytes of request bodies", 768 << 20, programs=544 << 20, each=520 << 20)


class Lasting:
    """A long response. Its caller's slot is given back at its end, also if the client was gone before it began."""

    def __init__(self, response: Response, place: Reservation) -> None:
        self._response = response
        self._place = place
        self.headers = response.headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with self._place:
            await self._response(scope, receive, send)
