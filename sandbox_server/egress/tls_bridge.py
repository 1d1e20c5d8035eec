"""TLS to an upstream proxy as a plain socket: what is written to the socket is sent encrypted, and the other way round."""

import asyncio
import socket
import ssl


class _Half(asyncio.Protocol):
    """One side of the bridge. It passes on what it receives, and pauses the other side while it cannot send."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Half | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.other and self.other.transport:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        """Pass the end on. TLS has no half-closed connections here, so both ways end behind what was sent."""
        self.end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()

    def pause_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other and self.other.transport:
            self.other.transport.resume_reading()

    def end(self) -> None:
        """Close the other side, behind what it has yet to send."""
        if self.other and self.other.transport:
            self.other.transport.close()


def client_context() -> ssl.SSLContext:
    """Return the context that verifies a proxy's certificate by this machine's authorities."""
    return ssl.create_default_context()


async def bridge(sock: socket.socket, host: str) -> socket.socket:
    """Speak TLS on a connected socket, which belongs to the bridge from now on; returns the plain end.

    Raises OSError, of which ssl.SSLError is one, if the certificate is not that of `host`.
    """
    loop = asyncio.get_running_loop()
    plain, ours = socket.socketpair()
    plain.setblocking(False)
    outer, inner = _Half(), _Half()
    outer.other, inner.other = inner, outer
    try:
        await loop.create_connection(lambda: inner, sock=ours)
        await loop.create_connection(lambda: outer, sock=sock, ssl=client_context(), server_hostname=host)
    except BaseException:
        plain.close()
        outer.end()
        raise
    return plain
