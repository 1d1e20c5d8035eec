"""How a connection is refused so that the program understands at once: 403 for HTTP, an alert for TLS, a reset otherwise."""

import asyncio
import socket
import struct
from contextlib import suppress

from sandbox_server.drivers.egress.policy import AppProtocol

ACCESS_DENIED = bytes.fromhex("15030300020231")
"""The fatal alert access_denied (RFC 8446)."""
LINGER_SECONDS = 1.0
"""How long what the client still sends is read, so that no reset overtakes the refusal."""
_MAX_LINGER = 1 << 20
_READ = 64 << 10
_RESET = struct.pack("ii", 1, 0)


class FlowRefused(Exception):
    """The connection is refused; the message is what its program is told."""

    def __init__(self, reason: str, rule: str, status: str = "403 Forbidden") -> None:
        super().__init__(reason)
        self.rule = rule
        self.status = status


def reset(sock: socket.socket) -> None:
    """Close a connection with a reset."""
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()


async def refuse(sock: socket.socket, protocol: AppProtocol | None, message: str, status: str = "403 Forbidden") -> None:
    """Say why a connection is refused as its protocol allows, and close it. Takes a second at most."""
    await end_with(sock, _page(message, status) if protocol is AppProtocol.HTTP else ACCESS_DENIED if protocol is AppProtocol.TLS else b"")


async def end_with(sock: socket.socket, said: bytes) -> None:
    """Say the last bytes of a connection, and close it. Takes a second at most."""
    try:
        if said:
            async with asyncio.timeout(LINGER_SECONDS):
                await _say(sock, said)
    except (OSError, TimeoutError):
        pass
    finally:
        reset(sock)


async def _say(sock: socket.socket, said: bytes) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, said)
    sock.shutdown(socket.SHUT_WR)
    left = _MAX_LINGER
    while left > 0 and (received := await loop.sock_recv(sock, _READ)):
        left -= len(received)


def _page(message: str, status: str) -> bytes:
    body = f"egress: {message}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode("ascii") + body
