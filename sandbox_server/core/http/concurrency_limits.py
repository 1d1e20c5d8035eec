"""How much of this process its callers may have at once, people always some of it."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sandbox_server.core.quota import Quota, Reservation

BODY_WAIT_SECONDS = 10.0
"""A body waits so long for memory, which other bodies have."""
COPIES = 2
"""What a body takes while it is read: its bytes, and the values in them."""


class Limits:
    """What an application's callers share."""

    def __init__(self) -> None:
        self.calls = Quota("calls at once", 1024, programs=896, each=768)
        self.open = Quota("open sockets, event streams and downloads", 512, programs=384, each=256)
        self.body_bytes = Quota("bytes for bodies of calls", 768 << 20, programs=544 << 20, each=520 << 20)


class Lasting:
    """A response that goes on for a while: its caller's place is given back at its end, also if the client was gone before it began."""

    def __init__(self, response: Response, place: Reservation) -> None:
        self._response = response
        self._place = place
        self.headers = response.headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        with self._place:
            await self._response(scope, receive, send)
