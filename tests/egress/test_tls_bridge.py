import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_server.drivers.egress.policy import Destination
from sandbox_server.drivers.egress.upstream import Upstream
from sandbox_server.egress import tls_bridge
from sandbox_server.egress.dialer import Dialer
from sandbox_server.egress.pipe_pool import PipePool
from sandbox_server.egress.resolver import Resolver
from sandbox_server.egress.spliced_flow import SplicedFlow
from sandbox_server.egress.tls_bridge import bridge
from tests.certificates import certificate
from tests.patience import eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
async def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A TLS server for localhost that answers CONNECT and sends back what it hears."""
    path = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    trusting = ssl.create_default_context(cafile=str(path))
    monkeypatch.setattr(tls_bridge, "client_context", lambda: trusting)

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            if chunk.startswith(b"CONNECT"):
                chunk = b"HTTP/1.1 200 OK\r\n\r\n"
            writer.write(chunk)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(attend, "127.0.0.1", 0, ssl=context)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def connected(port: int) -> socket.socket:
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def test_much_passes_both_ways_whole(port: int) -> None:
    content, loop = os.urandom(4 << 20), asyncio.get_running_loop()
    with await bridge(await connected(port), "localhost") as plain:
        sending = asyncio.ensure_future(loop.sock_sendall(plain, content))
        received = b""
        async with asyncio.timeout(60):
            while len(received) < len(content):
                received += await loop.sock_recv(plain, 1 << 20)
        await sending
    assert received == content


async def test_the_end_of_one_side_is_the_end_of_the_other(port: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    plain = await bridge(await connected(port), "localhost")
    plain.close()
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_a_certificate_of_another_name_is_refused_and_nothing_is_left(port: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ssl.SSLError):
        await bridge(await connected(port), "proxy.example")
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_a_connection_leaves_by_a_proxy_that_speaks_tls(port: int) -> None:
    resolver = Resolver()
    upstream = Upstream("https", "localhost", port, "user", "secret")
    sock, _ = await Dialer(resolver).connect_through(upstream, Destination(443, "far.example"))
    loop = asyncio.get_running_loop()
    with sock:
        await loop.sock_sendall(sock, b"hello")
        async with asyncio.timeout(20):
            assert await loop.sock_recv(sock, 100) == b"hello"
    resolver.close()


async def test_a_flow_is_spliced_over_it(port: int) -> None:
    content, loop = os.urandom(3 << 20), asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        program = socket.create_connection(listener.getsockname())
        client, _ = listener.accept()
    program.setblocking(False)
    client.setblocking(False)
    pool = PipePool()
    with program, client, await bridge(await connected(port), "localhost") as plain:
        flow = SplicedFlow(pool, client, plain)
        flow.start(b"first")
        sending = asyncio.ensure_future(loop.sock_sendall(program, content))
        received = b""
        async with asyncio.timeout(60):
            while len(received) < len(content) + 5:
                received += await loop.sock_recv(program, 1 << 20)
        await sending
        flow.cut("")
    pool.close()
    assert received == b"first" + content
