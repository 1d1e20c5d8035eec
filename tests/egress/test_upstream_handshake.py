"""Proxies that are played by a socket's other end."""

import asyncio
import socket

import pytest

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.protected_addresses import parse_address
from sandbox_server.drivers.egress.upstream import DEFAULT_PORTS, Upstream
from sandbox_server.egress.upstream_handshake import HANDSHAKES, MAX_HEAD, UpstreamRefused

pytestmark = pytest.mark.anyio
NAMED = Destination(443, "a.example")
GRANTED = b"\5\0\0\1\0\0\0\0\0\0"


async def shake(upstream: Upstream, destination: Destination, answers: list[bytes]) -> tuple[bytes, bytes]:
    """What the proxy heard, and what the connection gives after the handshake; each answer is to one thing that it heard."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    loop, heard = asyncio.get_running_loop(), b""

    async def play() -> None:
        nonlocal heard
        for answer in answers:
            heard += await loop.sock_recv(theirs, 4096)
            await loop.sock_sendall(theirs, answer)
        theirs.shutdown(socket.SHUT_WR)

    with ours, theirs:
        async with asyncio.timeout(20):
            playing = asyncio.ensure_future(play())
            try:
                await HANDSHAKES[upstream.scheme](ours, upstream, destination)
                await playing
            finally:
                playing.cancel()
            return heard, await loop.sock_recv(ours, 4096)


async def test_an_http_proxy_is_asked_for_a_tunnel() -> None:
    upstream = Upstream("http", "proxy", 3128, "user", "p:w")
    heard, rest = await shake(upstream, NAMED, [b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nserver first"])
    assert heard == b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic dXNlcjpwOnc=\r\n\r\n"
    assert rest == b"server first"


async def test_an_http_proxy_without_credentials_gets_none() -> None:
    destination = Destination(80, address=parse_address("2606:4700::1"))
    heard, _ = await shake(Upstream("http", "proxy", 3128), destination, [b"HTTP/1.0 200 \r\n\r\n"])
    assert heard == b"CONNECT [2606:4700::1]:80 HTTP/1.1\r\nHost: [2606:4700::1]:80\r\n\r\n"


async def test_a_socks_proxy_resolves_the_name_itself() -> None:
    heard, rest = await shake(Upstream("socks5", "proxy", 1080), NAMED, [b"\5\0", GRANTED + b"server first"])
    assert heard == b"\5\1\0" + b"\5\1\0\3\x09a.example\1\xbb"
    assert rest == b"server first"


@pytest.mark.parametrize(
    ("address", "sent"),
    [("8.8.8.8", b"\5\1\0\1\x08\x08\x08\x08\0\x50"), ("2606:4700::1", b"\5\1\0\4" + bytes.fromhex("26064700") + bytes(11) + b"\1\0\x50")],
)
async def test_a_socks_proxy_is_given_an_address_as_it_is(address: str, sent: bytes) -> None:
    destination = Destination(80, address=parse_address(address))
    heard, _ = await shake(Upstream("socks5", "proxy", 1080), destination, [b"\5\0", b"\5\0\0\3\4name\0\0"])
    assert heard == b"\5\1\0" + sent


async def test_a_socks_proxy_is_signed_in_to() -> None:
    heard, _ = await shake(Upstream("socks5", "proxy", 1080, "user", "pw"), NAMED, [b"\5\2", b"\1\0", GRANTED])
    assert heard.startswith(b"\5\1\2" + b"\1\4user\2pw" + b"\5\1\0\3")


@pytest.mark.parametrize(
    ("scheme", "user", "answers"),
    [
        ("http", "", [b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"]),
        ("http", "", [b"nonsense\r\n\r\n"]),
        ("http", "", [b"\r\n\r\n"]),
        ("http", "", [b""]),
        ("http", "", [b"x" * (MAX_HEAD + 10)]),
        ("socks5", "", [b"\4\0"]),
        ("socks5", "", [b"\5\xff"]),
        ("socks5", "", [b"\5\2"]),
        ("socks5", "", [b"\5\0", b"\5\2\0\1\0\0\0\0\0\0"]),
        ("socks5", "", [b"\5\0", b"\5\0\0"]),
        ("socks5", "u", [b"\5\2", b"\1\1"]),
        ("socks5", "u", [b"\5\0"]),
    ],
)
async def test_a_proxy_that_refuses_or_says_nonsense_is_refused(scheme: str, user: str, answers: list[bytes]) -> None:
    with pytest.raises(UpstreamRefused):
        await shake(Upstream(scheme, "proxy", 1080, user, "secret" * bool(user)), NAMED, answers)


def test_every_scheme_has_its_handshake() -> None:
    assert set(HANDSHAKES) == set(DEFAULT_PORTS)


@pytest.mark.parametrize("status", [b"407 Proxy Authentication Required", b"401 Unauthorized"])
async def test_a_proxy_that_refuses_the_credentials_is_called_that(status: bytes) -> None:
    with pytest.raises(UpstreamRefused, match="refuses the credentials"):
        await shake(Upstream("http", "proxy", 3128, "user", "wrong"), NAMED, [b"HTTP/1.1 " + status + b"\r\n\r\n"])
