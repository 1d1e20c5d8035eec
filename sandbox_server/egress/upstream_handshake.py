"""What an upstream proxy is asked before it connects: CONNECT of HTTP (RFC 9110), and SOCKS5 (RFC 1928, RFC 1929)."""

import asyncio
import base64
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.upstream import Upstream
from sandbox_server.egress.socket_reads import read_exactly

MAX_HEAD = 16 << 10
REFUSED_CREDENTIALS = "it refuses the credentials that the sandbox has for it"
_NO_AUTHENTICATION, _PASSWORD = 0, 2
_REPLIES = {1: "failure", 2: "not allowed", 3: "network unreachable", 4: "host unreachable", 5: "refused", 6: "expired"}


class UpstreamRefused(Exception):
    """The proxy did not connect; the message says why, and has nothing of the credentials."""


async def connect_by_http(sock: socket.socket, upstream: Upstream, destination: Destination) -> None:
    """Ask an HTTP proxy for a tunnel."""
    lines = [f"CONNECT {destination} HTTP/1.1", f"Host: {destination}"]
    if upstream.user or upstream.password:
        credentials = base64.b64encode(f"{upstream.user}:{upstream.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {credentials}")
    await asyncio.get_running_loop().sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode("ascii"))
    words = (await _head(sock)).split(b" ", 2)
    if len(words) > 1 and words[1][:3] in (b"407", b"401"):  # a tinyproxy answers as a site would
        raise UpstreamRefused(REFUSED_CREDENTIALS)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].startswith(b"2"):
        raise UpstreamRefused(f"it answered {words[1][:3].decode('latin-1') if len(words) > 1 else 'nothing that is HTTP'}")


async def connect_by_socks(sock: socket.socket, upstream: Upstream, destination: Destination) -> None:
    """Ask a SOCKS5 proxy for a connection."""
    method = _PASSWORD if upstream.user or upstream.password else _NO_AUTHENTICATION
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, bytes([5, 1, method]))
    if await _exactly(sock, 2) != bytes([5, method]):
        raise UpstreamRefused("it does not take this way to sign in")
    if method == _PASSWORD:
        user, password = upstream.user.encode(), upstream.password.encode()
        await loop.sock_sendall(sock, bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await _exactly(sock, 2))[1] != 0:
            raise UpstreamRefused(REFUSED_CREDENTIALS)
    await loop.sock_sendall(sock, bytes([5, 1, 0]) + _socks_host(destination) + destination.port.to_bytes(2))
    await _socks_reply(sock)


def _socks_host(destination: Destination) -> bytes:
    if destination.name:
        return bytes([3, len(destination.name)]) + destination.name.encode("ascii")
    assert destination.address
    return bytes([1 if destination.address.version == 4 else 4]) + destination.address.packed


async def _socks_reply(sock: socket.socket) -> None:
    version, reply, _, kind = await _exactly(sock, 4)
    if version != 5 or reply != 0:
        raise UpstreamRefused(_REPLIES.get(reply, "failure"))
    length = {1: ipaddress.IPV4LENGTH // 8, 4: ipaddress.IPV6LENGTH // 8}.get(kind) or (await _exactly(sock, 1))[0]
    await _exactly(sock, length + 2)


async def _exactly(sock: socket.socket, count: int) -> bytes:
    try:
        return await read_exactly(sock, count)
    except EOFError:
        raise UpstreamRefused("it closed the connection") from None


async def _head(sock: socket.socket) -> bytes:
    """Read the head of an answer, and not a byte after it, which would be the server's."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        if len(received) >= MAX_HEAD:
            raise UpstreamRefused("its answer is too long")
        received += await _exactly(sock, 1)
    return received


HANDSHAKES: Mapping[str, Callable[[socket.socket, Upstream, Destination], Awaitable[None]]] = {
    "http": connect_by_http,
    "https": connect_by_http,
    "socks5": connect_by_socks,
}
"""How each scheme of an upstream is asked; https is HTTP within TLS."""
