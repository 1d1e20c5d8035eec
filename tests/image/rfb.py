"""Enough of RFB to be a viewer, through the gateway, in raw messages."""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from websockets.sync.client import ClientConnection

from tests.image.sockets import connect
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.image.container import Sandbox

EXTENDED_CLIPBOARD = 0xC0A1E5CE


class Viewer:
    """One connection, greeted: raw encoding, the clipboard in its extended form."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self._seen = bytearray()
        self.connection.send(b"RFB 003.008\n\x01\x00")
        greeting = self.read(12 + 2 + 4 + 24)
        self.width, self.height = struct.unpack_from(">HH", greeting, 18)
        self.read(struct.unpack(">I", greeting[-4:])[0])
        self.connection.send(struct.pack(">BxHiI", 2, 2, 0, EXTENDED_CLIPBOARD))
        self.read(16)  # what the server can do with a clipboard

    def read(self, count: int) -> bytes:
        """The next bytes of the server."""
        while len(self._seen) < count:
            piece = self.connection.recv(timeout=PATIENCE_SECONDS)
            assert isinstance(piece, bytes)
            self._seen += piece
        taken = bytes(self._seen[:count])
        del self._seen[:count]
        return taken

    def key(self, keysym: int) -> None:
        """Press a key and release it."""
        for down in (1, 0):
            self.connection.send(struct.pack(">BBxxI", 4, down, keysym))

    def point(self, x: int, y: int, buttons: int = 0) -> None:
        """Move the pointer."""
        self.connection.send(struct.pack(">BBHH", 5, buttons, x, y))

    def pixel(self, x: int, y: int) -> bytes:
        """One pixel of the screen, four bytes; an answer to this comes after the answers to what was sent before."""
        self.connection.send(struct.pack(">BBHHHH", 3, 0, x, y, 1, 1))
        kind, count = struct.unpack(">BxH", self.read(4))
        assert (kind, count) == (0, 1)
        self.read(12)
        return self.read(4)


@contextmanager
def viewing(sandbox: "Sandbox", headers: Mapping[str, str] | None = None, query: str = "") -> Iterator[Viewer]:
    """A viewer of a sandbox's desktop, with the credentials in `headers`; without any, with everything."""
    url = f"{sandbox.base_url.replace('http', 'ws')}/websockify{query}"
    with connect(url, additional_headers=sandbox.headers if headers is None else dict(headers), proxy=None, max_size=None) as connection:
        yield Viewer(connection)
