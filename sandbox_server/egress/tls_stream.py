"""TLS on a socket whose first bytes may have been read already: one task reads, another writes."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

HANDSHAKE_SECONDS = 10.0
WRITE_SECONDS = 120.0
"""How long the other side may take none of what is sent."""
READ = 32 << 10
"""Bytes of one read."""


class TlsStream:
    """One side of a TLS connection. The caller closes the socket."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, *, serves: bool, name: str | None = None, heard: bytes = b"") -> None:
        self._sock = sock
        with suppress(OSError):  # it may be no socket of TCP
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._in.write(heard)
        self._tls = context.wrap_bio(self._in, self._out, server_side=serves, server_hostname=name)
        self._sending = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self.read_bytes = 0
        self.written_bytes = 0
        self.moved_at = self._loop.time()

    async def handshake(self) -> None:
        """Agree on keys, and verify the server's name if this side is the client. Raises OSError, ssl.SSLError and TimeoutError."""
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            try:
                await self._until(self._tls.do_handshake)
            except ssl.SSLError:
                with suppress(OSError):
                    await self._flush()  # the alert that says why
                raise

    async def read(self) -> bytes:
        """Return what comes next; nothing at the end. Raises OSError."""
        try:
            received = await self._until(lambda: self._tls.read(READ))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""
        self.read_bytes += len(received)
        self.moved_at = self._loop.time()
        return received

    async def write(self, content: bytes) -> None:
        """Send bytes, within a bound. Raises OSError and TimeoutError."""
        if content:
            self._tls.write(content)
            self.written_bytes += len(content)
            await self._flush()
            self.moved_at = self._loop.time()

    async def end(self) -> None:
        """Say that nothing more comes, as far as the other side still takes that."""
        with suppress(OSError, TimeoutError):
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            await self._flush()

    def cut(self) -> None:
        """End the connection now; what waits for it gets the end."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    @property
    def stale(self) -> bool:
        """Whether the other side has ended, or said something, while nobody asked it."""
        try:
            while received := self._sock.recv(READ):
                self._in.write(received)
        except BlockingIOError:
            pass
        except OSError:
            return True
        else:
            return True
        try:
            self._tls.read(1)
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError:
            return True
        return True

    async def _until[T](self, step: Callable[[], T]) -> T:
        """Take a step of TLS, with as many bytes from the other side as it needs."""
        while True:
            try:
                found = step()
            except ssl.SSLWantReadError:
                await self._flush()
                await self._fill()
                continue
            await self._flush()
            return found

    async def _fill(self) -> None:
        received = await self._loop.sock_recv(self._sock, READ)
        if received:
            self._in.write(received)
        else:
            self._in.write_eof()

    async def _flush(self) -> None:
        if self._out.pending:
            async with self._sending, asyncio.timeout(WRITE_SECONDS):
                if content := self._out.read():
                    await self._loop.sock_sendall(self._sock, content)
