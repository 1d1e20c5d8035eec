"""A WebSocket of which the application knows how many bytes it holds in memory, and which it can end at once."""

from collections.abc import Callable
from typing import Any, cast

from starlette.websockets import WebSocket
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

NOTED_BYTES = 1 << 20
"""From this size on of what a client has sent in part, `grown` is called."""
_EXTENSION = "tandem.connection"


class MeasuredWebSocket(WebSocketsSansIOProtocol):
    """A connection: an option `ws` of `serve_on`. A close waits behind what the other side does not read; `abort` drops that."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.lost = False
        """Whether it has ended."""
        self.grown: Callable[[], None] = lambda: None
        """Called when a message that is not whole yet has become large."""

    def handle_connect(self, event: Request) -> None:
        """Take the request, and tell the application which connection it is on."""
        super().handle_connect(event)
        if not self.close_sent:
            cast("dict[str, Any]", self.scope["extensions"])[_EXTENSION] = self

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client."""
        super().data_received(data)
        if self._received > NOTED_BYTES:
            self.grown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end."""
        self.lost = True
        super().connection_lost(exc)

    @property
    def held(self) -> int:
        """Bytes in memory: what the other side has not read, and what is not whole yet of what it sends."""
        return 0 if self.lost else self.transport.get_write_buffer_size() + self._received

    @property
    def _received(self) -> int:
        return len(self.conn.reader.buffer) + sum(map(len, self.frames))

    def abort(self) -> None:
        """End it now, and drop what it holds."""
        self.lost = True
        self.transport.abort()


def connection_of(websocket: WebSocket) -> MeasuredWebSocket:
    """Return the connection of a WebSocket that such a server has accepted."""
    found: MeasuredWebSocket = websocket.scope["extensions"][_EXTENSION]
    return found
