import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack

import pytest

from sandbox_server.drivers.egress.certificate_authority import CertificateAuthority
from sandbox_server.egress import tls_stream
from sandbox_server.egress.tls_stream import TlsStream

pytestmark = pytest.mark.anyio


type Sockets = Callable[[], tuple[socket.socket, socket.socket]]
type Pair = Callable[[], Awaitable[tuple[TlsStream, TlsStream]]]


@pytest.fixture
def ends() -> Iterator[Sockets]:
    """Makes two connected sockets."""
    with ExitStack() as stack:

        def make() -> tuple[socket.socket, socket.socket]:
            ours, theirs = (stack.enter_context(sock) for sock in socket.socketpair())
            ours.setblocking(False)
            theirs.setblocking(False)
            return ours, theirs

        yield make


@pytest.fixture
def pair(ends: Sockets) -> Pair:
    """Makes a client and a server that have shaken hands."""

    async def make() -> tuple[TlsStream, TlsStream]:
        authority = CertificateAuthority()
        ours, theirs = ends()
        client = TlsStream(ours, ssl.create_default_context(cadata=authority.pem), serves=False, name="a.example")
        server = TlsStream(theirs, authority.context("a.example"), serves=True)
        async with asyncio.timeout(20):
            await asyncio.gather(client.handshake(), server.handshake())
        return client, server

    return make


async def test_both_sides_read_what_the_other_wrote_until_its_end(pair: Pair) -> None:
    client, server = await pair()
    content = bytes(range(256)) * 4096

    async def drain() -> bytes:
        found = b""
        while piece := await server.read():
            found += piece
        return found

    async def send() -> None:
        await client.write(content)
        await client.end()

    async with asyncio.timeout(20):
        read, _ = await asyncio.gather(drain(), send())
    assert read == content
    assert (client.written_bytes, server.read_bytes) == (len(content), len(content))


async def test_an_end_or_an_unasked_word_makes_a_connection_stale(pair: Pair) -> None:
    client, server = await pair()
    assert not client.stale
    await server.write(b"unasked")
    assert client.stale
    client, server = await pair()
    await server.end()
    assert client.stale
    client, server = await pair()
    server.cut()
    assert client.stale


async def test_a_handshake_and_a_write_are_bounded(ends: Sockets, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_stream, "HANDSHAKE_SECONDS", 0.05)
    monkeypatch.setattr(tls_stream, "WRITE_SECONDS", 0.05)
    ours, _ = ends()
    with pytest.raises(TimeoutError):
        await TlsStream(ours, ssl.create_default_context(), serves=False, name="a.example").handshake()
    monkeypatch.setattr(tls_stream, "HANDSHAKE_SECONDS", 10.0)
    client, _ = await pair()
    with pytest.raises(TimeoutError):
        await client.write(bytes(16 << 20))
