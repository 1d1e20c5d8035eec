"""A connection in clear text whose first bytes may have been read already, with the same steps as one whose TLS is opened."""

import asyncio
import socket
from contextlib import suppress
from typing import Protocol

from sandbox_server.egress.tls_stream import READ, WRITE_SECONDS


class ByteStream(Protocol):
    """One side of a connection: one task reads, another writes. The caller closes the socket."""

    read_bytes: int
    written_bytes: int
    moved_at: float
    """When bytes last moved, by the loop's clock."""

    async def read(self) -> bytes:
        """Return what comes next; nothing at the end. Raises OSError."""

    async def write(self, content: bytes) -> None:
        """Send bytes, within a bound. Raises OSError and TimeoutError."""

    async def end(self) -> None:
        """Say that nothing more comes, as far as the other side still takes that."""

    def cut(self) -> None:
        """End the connection now; what waits for it gets the end."""

    @property
    def stale(self) -> bool:
        """Whether the other side has ended, or said something, while nobody asked it."""


class ClearStream:
    """One side of a connection in clear text."""

    def __init__(self, sock: socket.socket, heard: bytes = b"") -> None:
        self._sock = sock
        self._heard = heard
        self._loop = asyncio.get_running_loop()
        self.read_bytes = 0
        self.written_bytes = 0
        self.moved_at = self._loop.time()

    async def read(self) -> bytes:
        """Return what comes next; nothing at the end. Raises OSError."""
        received, self._heard = self._heard or await self._loop.sock_recv(self._sock, READ), b""
        self.read_bytes += len(received)
        self.moved_at = self._loop.time()
        return received

    async def write(self, content: bytes) -> None:
        """Send bytes, within a bound. Raises OSError and TimeoutError."""
        if content:
            self.written_bytes += len(content)
            async with asyncio.timeout(WRITE_SECONDS):
                await self._loop.sock_sendall(self._sock, content)
            self.moved_at = self._loop.time()

    async def end(self) -> None:
        """Say that nothing more comes, as far as the other side still takes that."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        """End the connection now; what waits for it gets the end."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    @property
    def stale(self) -> bool:
        """Whether the other side has ended, or said something, while nobody asked it."""
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True
